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
    distance = np.linalg.norm(simulation.liquid.tracker.cloud.x * simulation.scene.dx - 1.0, axis=0)
    assert distance.min() > 0.45


def test_open_and_missing_meshes(tmp_path):
    sheet = trimesh.Trimesh([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]])
    sheet.export(tmp_path / "sheet.obj")
    with pytest.raises(NonstickError, match="not closed"):
        Mesh.load(tmp_path / "sheet.obj")
    (tmp_path / "words.obj").write_text("no mesh at all")
    with pytest.raises(NonstickError, match=r"words\.obj"):
        Mesh.load(tmp_path / "words.obj")
