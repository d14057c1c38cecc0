"""Figures are one closed piece with thin parts; a user's mesh takes their place; mazes are what `doors` says."""

import runpy
from pathlib import Path

import numpy as np
import pytest
from scipy.ndimage import label
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from nonstick.bench.problems import maze
from nonstick.errors import NonstickError
from nonstick.grid import Figure, Grid, Maze
from nonstick.grid.shapes.figure import _FIGURES, _extent
from nonstick.scenes import build
from nonstick.scenes.scene import Scene

ROOT = Path(__file__).parents[2]


def edges(faces):
    return np.sort(np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]]), axis=1)


def test_figures_are_closed_and_in_one_piece(tmp_path):
    main = runpy.run_path(str(ROOT / "examples" / "figures.py"))["main"]
    made = main(tmp_path, 56, ("bunny", "armadillo")) | main(tmp_path, 88, ("dragon",))
    for name, mesh in made.items():
        _, count = np.unique(edges(mesh.faces), axis=0, return_counts=True)
        assert (count == 2).all(), name  # every edge belongs to two triangles
        a, b = edges(mesh.faces).T
        joined = coo_array((np.ones(len(a)), (a, b)), shape=(len(mesh.vertices),) * 2)
        assert connected_components(joined, directed=False)[0] == 1, name
        assert np.ptp(mesh.vertices, axis=0).max() == pytest.approx(1.0, abs=0.06)
        assert (tmp_path / f"{name}.ply").stat().st_size > 10_000


def test_a_figure_scales_and_moves():
    small, large = Figure("dragon", (0.5, 0.5, 0.5), 1.0), Figure("dragon", (1.0, 1.5, 2.0), 2.0)
    x = np.random.default_rng(0).random((3, 500))
    there = [2 * (a - 0.5) + c for a, c in zip(x, large.centre)]
    assert np.allclose(large(*there), 2 * small(*x), atol=1e-12)
    with pytest.raises(NonstickError, match="three dimensions"):
        Figure("dragon", (0.5, 0.5), 1.0)


@pytest.mark.parametrize("name", ["bunny", "armadillo", "dragon"])
def test_figures_have_the_distance_of_a_slow_twin(name):
    """All cones one after another, with no short cut."""

    def round_cone(x, start, end):
        way = end[:3] - start[:3]
        t = np.clip((x - start[:3]) @ way / (way @ way), 0.0, 1.0)
        return np.linalg.norm(x - start[:3] - t[:, None] * way, axis=1) - (start[3] + t * (end[3] - start[3]))

    chains, width, ripples = _FIGURES[name]()
    low, high = _extent(name)
    x = np.random.default_rng(1).uniform(low - 0.3, high + 0.3, (4000, 3))
    phi = np.full(len(x), np.inf)
    for chain in chains:
        for start, end in zip(np.array(chain)[:-1], np.array(chain)[1:]):
            cone = round_cone(x, start, end)
            overlap = np.maximum(width - np.abs(phi - cone), 0.0)
            phi = np.minimum(phi, cone) - overlap**2 / (4.0 * width)
    figure = Figure(name, tuple(0.5 * (low + high)), float((high - low).max()))
    np.testing.assert_allclose(figure(*x.T), phi + ripples(*x.T), atol=1e-13)


def test_a_mesh_of_your_own_takes_its_place(tmp_path):
    """One key: `file`."""
    pytest.importorskip("igl")
    import trimesh

    trimesh.creation.box((4.0, 2.0, 1.0)).export(tmp_path / "scan.ply")
    shape = {"type": "figure", "name": "bunny", "centre": [0.5, 0.5, 0.5], "size": 0.8, "file": "scan.ply"}
    scene = Scene({"domain": {"size": [1.0, 1.0, 1.0], "resolution": 8}, "liquid": [{"shape": shape}]}, folder=tmp_path)
    made = build(scene.model.liquid[0].shape, tmp_path)
    assert np.allclose(made.bounds(3), [[0.1, 0.3, 0.4], [0.9, 0.7, 0.6]])


def test_a_maze_as_a_shape_has_the_cells_of_the_tables():
    """The sign at cell centres is that of the array, for corridors and for narrow doors."""
    corridor, wall, count = 4, 1, 3
    n = count * (corridor + wall) - wall
    shape = Maze((0.0, 0.0, 0.0), float(n), count, wall=float(wall))
    assert np.array_equal(shape(*Grid((n,) * 3, 1.0).cells()) > 0, maze(n, corridor, wall))
    rooms = Maze((0.0, 0.0, 0.0), 1.0, 3, wall=0.05, door=0.15, seed=4)
    phi = rooms.sample(Grid.unit(60, 3).cells())
    assert label(phi > 0)[1] == 1 and (phi < 0).any()  # the tree joins all rooms
    x = np.random.default_rng(1).random((3, 2000))
    step = 1e-4 * np.random.default_rng(2).normal(size=x.shape)
    assert (np.abs(rooms(*(x + step)) - rooms(*x)) <= np.linalg.norm(step, axis=0) + 1e-12).all()
    with pytest.raises(NonstickError, match="does not fit"):
        Maze((0.0, 0.0, 0.0), 1.0, 3, wall=0.05, door=0.5)
