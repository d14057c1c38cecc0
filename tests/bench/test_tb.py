"""Takahashi–Batty's tables at toy size: the claims that do not need a large grid, and the published rows."""

import numpy as np
import pytest
from scipy.ndimage import label

from nonstick import registry
from nonstick.bench import get
from nonstick.bench.problems import bounded_source, liquid_maze, maze, neumann_maze, open_faces
from nonstick.bench.runner import count_nonzeros
from nonstick.bench.tables import tables
from nonstick.operators.base import row_sums

MAZES = {part.name: part.options for part in tables()["tb-table1"].parts}


@pytest.mark.parametrize("kind", MAZES.values(), ids=list(MAZES))
def test_mazes_are_connected_and_have_walls(kind):
    cells = maze(40, **kind)
    assert max(cells.shape) <= 40 and label(cells)[1] == 1 and 0.1 < cells.mean() < 0.95
    problem = neumann_maze(40, **kind)
    assert problem.n == cells.sum()
    assert np.abs(row_sums(problem.A)).max() <= 1e-9 * problem.A.diagonal.max(), "pure Neumann"
    assert abs(problem.b.sum()) <= 1e-9 * np.abs(problem.b).sum(), "solvable"


def test_faces_are_open_between_open_cells_only():
    cells = maze(20, 4, 2)
    for axis, w in enumerate(open_faces(cells)):
        assert w.shape == tuple(n + (a == axis) for a, n in enumerate(cells.shape))
        first, faces = np.moveaxis(cells, axis, 0), np.moveaxis(w, axis, 0)
        assert np.array_equal(faces[1:-1] == 1.0, first[1:] & first[:-1]) and not faces[0].any() and not faces[-1].any()


@pytest.mark.slow
def test_table1_topology_counts_and_nonzeros():
    plan = get("tb-table1").plan((30,), ("saamg-cg", "giaamg-cg", "tagiaamg-cg"))
    rows = list(get("tb-table1").run(plan))
    corridors = {row.method: row for row in rows if "12/3" in row.case and "published" not in row.case}
    assert all(row.converged for row in corridors.values())
    assert corridors["tagiaamg-cg"].iterations <= 9
    assert corridors["tagiaamg-cg"].nonzeros <= 0.65 * corridors["saamg-cg"].nonzeros
    published = {row.method: row.iterations for row in rows if "published" in row.case}
    assert published["tagiaamg-cg"] == 6 and published["mic-cg"] == 505


def test_nonzeros_are_those_of_the_hierarchy():
    problem = neumann_maze(30)
    A = problem.A.matrix().nnz
    oblivious = count_nonzeros(registry.get("giaamg-cg"), problem)
    assert 1.1 * A < sum(oblivious) < 2.0 * A
    assert count_nonzeros(registry.get("mic-cg"), problem) == ((A + problem.n) // 2, A)
    assert count_nonzeros(registry.get("pgs"), problem) is None


@pytest.mark.slow
def test_table2_interior_point_needs_the_fewest_steps():
    steps = {}
    for row in get("tb-table2").run(get("tb-table2").plan((24,))):
        if "published" not in row.case:
            assert row.converged, row
            steps[row.method] = row.outer_iterations
    assert set(steps) == set(tables()["tb-table2"].methods)
    assert steps["ipm-pd"] <= 12 and steps["ipm-pd"] == min(steps.values()), steps


def test_bounded_source_is_bounded_at_a_fifth():
    problem = bounded_source(10)
    free = np.linalg.solve(problem.A.matrix().toarray(), problem.b)
    assert problem.box.upper[0] == pytest.approx(0.2 * free.max(), rel=1e-6)


def test_table3_methods_agree():
    from nonstick import solve_problem

    problem = liquid_maze(30)
    x = solve_problem(problem, "ipm-pd", rtol=1e-9).x
    for method in ("tagiaamg-mprgp", "mic-mprgp"):
        other = solve_problem(problem, method, rtol=1e-9)
        assert other.converged
        np.testing.assert_allclose(other.x, x, atol=1e-6 * np.abs(x).max())
