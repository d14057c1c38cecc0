"""Closed meshes as solids; open ones are refused. Needs the extra [mesh]."""

import numpy as np
import pytest
import trimesh

from nonstick import NonstickError, Scene, Simulation
from nonstick.grid import Mesh


def test_mesh_is_a_signed_distance_and_a_solid(tmp_path):
    ball = trimesh.creation.icosphere(subdivisions=4, radius=0.5)
    ball.apply_translation([1.0, 1.0, 1.0])
    ball.export(tmp_path / "ball.obj")
    shape = Mesh.load(tmp_path / "ball.obj")
    points = np.random.default_rng(0).random((3, 50)) * 2
    exact = np.linalg.norm(points - 1.0, axis=0) - 0.5
    assert np.abs(shape(*points) - exact).max() < 0.01 and np.allclose(shape.middle, 1.0)
    scene = tmp_path / "scene.toml"
    scene.write_text(
        '[domain]\nsize = [2.0, 2.0, 2.0]\nresolution = 12\n[[solid]]\nshape = {type = "mesh", file = "ball.obj"}\n'
        '[[liquid]]\nshape = {type = "box", low = [0.6, 1.5, 0.6], high = [1.4, 1.9, 1.4]}\n'
    )
    simulation = Simulation(Scene.load(scene))
    for _ in range(15):
        simulation.next_frame()
    distance = np.linalg.norm(simulation.liquid.tracker.x * simulation.scene.dx - 1.0, axis=0)
    assert distance.min() > 0.45


def test_a_mesh_as_liquid(tmp_path):
    """As much liquid as the mesh encloses, where the mesh is; it falls as a whole."""
    ball = trimesh.creation.icosphere(subdivisions=4, radius=0.5)
    ball.apply_translation([1.0, 1.2, 1.0])
    ball.export(tmp_path / "ball.obj")
    scene = tmp_path / "scene.toml"
    scene.write_text(
        "[domain]\nsize = [2.0, 2.0, 2.0]\nresolution = 20\n"
        '[[liquid]]\nshape = {type = "mesh", file = "ball.obj"}\nvelocity = [0.0, 0.0, 0.0]\n'
    )
    simulation = Simulation(Scene.load(scene))
    x = np.array(simulation.liquid.tracker.points())
    assert np.linalg.norm(x - np.array([[1.0], [1.2], [1.0]]), axis=0).max() < 0.5
    assert x.mean(axis=1) == pytest.approx([1.0, 1.2, 1.0], abs=0.01)
    volume = simulation.liquid.ledger.initial * simulation.scene.dx**3
    assert volume == pytest.approx(4 / 3 * np.pi * 0.125, rel=0.03)
    for _ in range(6):
        simulation.next_frame()
    fallen = x.mean(axis=1) - np.array(simulation.liquid.tracker.points()).mean(axis=1)
    assert fallen == pytest.approx([0.0, 0.5 * 9.81 * 0.1**2, 0.0], abs=0.01)


def test_open_and_missing_meshes(tmp_path):
    sheet = trimesh.Trimesh([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]])
    sheet.export(tmp_path / "sheet.obj")
    with pytest.raises(NonstickError, match="not closed"):
        Mesh.load(tmp_path / "sheet.obj")
    (tmp_path / "words.obj").write_text("no mesh at all")
    with pytest.raises(NonstickError, match=r"words\.obj"):
        Mesh.load(tmp_path / "words.obj")
