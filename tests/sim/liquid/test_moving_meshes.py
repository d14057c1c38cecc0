"""Meshes that move: sampled once; as good as the shape they show; resumed bit for bit. Needs [mesh]."""

import numpy as np
import pytest
import trimesh

from nonstick import Scene, Simulation
from nonstick.grid import Mesh


@pytest.fixture
def asked(monkeypatch):
    """The number of points at which a mesh is measured exactly, call by call."""
    calls = []
    exact = Mesh.distance

    def counted(self, *x):
        calls.append(np.broadcast(*x).size)
        return exact(self, *x)

    monkeypatch.setattr(Mesh, "distance", counted)
    return calls


def scene(tmp_path, **more):
    trimesh.creation.icosphere(subdivisions=3, radius=0.25).export(tmp_path / "ball.stl")
    base = {
        "domain": {"size": [1.0, 1.0, 1.0], "resolution": 16},
        "liquid": [{"shape": {"type": "box", "low": [0.0, 0.0, 0.0], "high": [1.0, 0.4, 1.0]}}],
    }
    return Scene({**base, **more}, folder=tmp_path)


def ball(kind="mesh", at=(0.5, 0.5, 0.5)):
    if kind == "mesh":
        return {"type": "mesh", "file": "ball.stl", "move": list(at)}
    return {"type": "ball", "centre": list(at), "radius": 0.25}


def solid(kind="mesh", **motion):
    return {"solid": [{"shape": ball(kind), "motion": {"velocity": [0.0, -0.5, 0.0], **motion}}]}


def test_a_driven_mesh_is_measured_at_few_points_after_the_first_step(tmp_path, asked):
    simulation = Simulation(scene(tmp_path, **solid()))
    simulation.next_frame()
    asked.clear()
    simulation.next_frame()
    assert sum(asked) < 0.1 * 17**3


def test_solids_at_rest_are_not_measured_again(tmp_path, asked):
    for more in ({"solid": [{"shape": ball()}]}, solid(stop=0.01)):
        simulation = Simulation(scene(tmp_path, **more, time={"fps": 60.0}))
        simulation.next_frame()
        asked.clear()
        simulation.next_frame()
        assert asked == []


def test_a_solid_at_rest_is_measured_exactly(tmp_path):
    simulation = Simulation(scene(tmp_path, solid=[{"shape": ball()}]))
    solids = simulation.liquid.solids
    assert np.array_equal(solids.phi, solids.list[0].shape.sample(solids.grid.nodes()))


@pytest.mark.parametrize("role", ["solid", "bodies"])
def test_a_mesh_moves_as_the_shape_it_shows(tmp_path, role):
    """A ball as a mesh of 1280 triangles and the ball itself: the same walls and velocities."""
    seen = []
    for kind in ("mesh", "ball"):
        more = solid(kind, spin=40.0) if role == "solid" else {"bodies": [{"shape": ball(kind), "density": 400.0}]}
        simulation = Simulation(scene(tmp_path, **more))
        for _ in range(3):
            simulation.next_frame()
        solids = simulation.liquid.solids
        near = np.abs(solids.nodes) < 1.0
        seen.append((solids, near))
    (mesh, near), (exact, _) = seen
    assert near.sum() > 100
    assert np.abs(mesh.nodes - exact.nodes)[near].max() < 0.1  # in cells; the mesh is 0.03 cells smaller
    assert mesh.fastest() == pytest.approx(exact.fastest(), rel=0.02)


@pytest.mark.parametrize("role", ["solid", "bodies", "inflow"])
def test_a_run_with_a_moving_mesh_resumes_bit_for_bit(tmp_path, role):
    more = {
        "solid": solid(spin=40.0),
        "bodies": {"bodies": [{"shape": ball(), "density": 400.0}]},
        "inflow": {"inflow": [{"shape": ball(), "velocity": [0.0, -1.0, 0.0]}]},
    }[role]
    made = scene(tmp_path, **more)
    whole = Simulation(made)
    whole.next_frame()
    state = {key: np.array(value) for key, value in whole.state().items()}
    whole.next_frame()
    resumed = Simulation(made)
    resumed.restore(state)
    resumed.next_frame()
    one, other = whole.frame_arrays(), resumed.frame_arrays()
    assert all(np.array_equal(one[key], other[key]) for key in one)


def test_the_region_of_a_force_is_measured_once(tmp_path, asked):
    force = {"shape": ball(at=(0.5, 0.3, 0.5)), "acceleration": [0.0, 5.0, 0.0]}
    simulation = Simulation(scene(tmp_path, force=[force]))
    simulation.next_frame()
    asked.clear()
    simulation.next_frame()
    assert asked == []
