"""Every script under benchmarks/ runs at a tiny size and leaves rows and a picture; comparators find the solution.

Scripts under validation/ and examples/ find all names they import.
"""

import importlib
import json
import runpy
from pathlib import Path

import numpy as np
import pytest

from nonstick import api, cases

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "benchmarks"
OTHERS = sorted(path for folder in ("validation", "examples") for path in (ROOT / folder).glob("*.py"))
SCRIPTS = {
    "compare": {"sizes": (8,), "problems": ("sphere3d",)},
    "frames": {"sizes": (12,), "frames": 2},
    "flatness": {"sizes": (4,), "only": ("sphere3d", "obstacle2d")},
    "hard": {"sizes": (12,)},
    "liquid": {"sizes": (8,)},
    "memory": {"sizes": (8,), "methods": ("auto",)},
    "peers": {"sizes": (8,), "peer": ("scipy",)},
    "roofline": {"sizes": (8,), "megabytes": 1},
    "scaling": {"sizes": (8,)},
    "sequence": {"sizes": (8,), "count": 3},
}
#: tried by tests of their own, or only imported
WITHOUT_PICTURE = {
    "active_box",
    "as_printed",
    "calm",
    "coupled",
    "elasticity",
    "export",
    "gpu",
    "matrices",
    "meshes",
    "nonsymmetric",
    "option",
    "quoted",
    "ranks",
    "ranks_simulation",
    "ranks_step",
    "record",
    "sensitivity",
    "step_time",
    "stokes_table",
}


def test_every_script_is_tried():
    found = {path.stem for path in FOLDER.glob("*.py")} - {"common", "comparators", "gallery"}
    assert found == {*SCRIPTS, *WITHOUT_PICTURE}


@pytest.mark.parametrize("path", OTHERS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_script_finds_what_it_imports(path):
    if "import torch" in path.read_text(encoding="utf-8"):
        pytest.importorskip("torch", reason="PyTorch comes with make test-arrays, which runs these examples")
    assert callable(runpy.run_path(str(path), run_name="script")["main"])


@pytest.mark.parametrize("name", sorted(WITHOUT_PICTURE))
def test_a_benchmark_finds_what_it_imports(name):
    assert callable(importlib.import_module(name).main)


def test_matrices_without_a_grid(tmp_path, capsys):
    rows = importlib.import_module("matrices").main(tmp_path, (12,), ("bearing-4", "torsion"), ("auto", "auto+cells"))
    assert len(rows) == 4 and all(row["converged"] for row in rows) and "torsion" in capsys.readouterr().out


def test_bodies_against_solids_in_their_place():
    rows = importlib.import_module("coupled").main(n=10, runs=1)
    assert len(rows) == 12 and all(row["coupled"] > 0 and row["iterations"] > 0 for row in rows)


def test_quoted_counts(tmp_path, capsys):
    rows = importlib.import_module("quoted").main(tmp_path, (10,), ("omega", "levels", "pieces"))
    assert all(row["converged"] for row in rows) and {row["study"] for row in rows} == {"omega", "levels", "pieces"}
    assert "S = 3" in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_leaves_rows_and_a_picture(name, tmp_path, capsys):
    rows = importlib.import_module(name).main(out=tmp_path, **SCRIPTS[name])
    assert rows and all(row.get("converged", True) for row in rows)
    assert json.loads((tmp_path / f"{name}.json").read_text()) == list(rows)
    assert all(path.stat().st_size > 5000 for path in tmp_path.glob("*.png"))
    assert list(tmp_path.glob("*.png")) and capsys.readouterr().out


def test_a_second_run_replaces_its_rows_and_keeps_the_others(tmp_path):
    rows = importlib.import_module("common").Rows(tmp_path, "x", ("n",))
    for n, value in ((1, "a"), (2, "b"), (1, "c")):
        rows.add({"n": n, "value": value})
    again = importlib.import_module("common").Rows(tmp_path, "x", ("n",))
    assert [(row["n"], row["value"]) for row in again] == [(2, "b"), (1, "c")]


@pytest.mark.parametrize("case, n", [("sphere3d", 12), ("obstacle2d", 21)])
def test_comparators_find_the_solution(case, n):
    problem = cases.build(case, n).problem
    exact = api.solve_problem(problem, "psor", rtol=1e-10).x
    for name, (method, _) in importlib.import_module("comparators").comparators().items():
        found = api.solve_problem(problem, method, rtol=1e-8)
        assert found.converged, name
        assert np.abs(found.x - exact).max() <= 1e-5 * np.abs(exact).max(), name


def test_a_larger_box_holds_the_same_liquid():
    build = importlib.import_module("liquid").build
    small, large = build(12, 1), build(12, 2)
    assert np.array_equal(small.b, large.b) or np.allclose(small.b, large.b, rtol=1e-9)
    assert np.allclose(small.A.diagonal, large.A.diagonal, rtol=1e-6)


def test_the_table_of_stokes_methods():
    script = importlib.import_module("stokes_table")
    assert script.main(sizes=(8,), kinds=("tank",))


def test_the_loops_of_an_option_agree(capsys):
    importlib.import_module("option").main(sizes=((30, 5),), turns=1)
    assert "| 30 | 5 |" in capsys.readouterr().out


@pytest.mark.parametrize("degree", ["P1", "P2"])
@pytest.mark.parametrize("name", ["beam", "beam, ν = 0.45"])
def test_triangles_press_as_bilinear_elements_do(degree, name):
    """Another discretisation of the same body: nearly the same energy, and contact in nearly as many unknowns."""
    pytest.importorskip("skfem")
    elasticity = importlib.import_module("elasticity")
    *given, nodes = elasticity.problem(f"{degree}, {name}", 1)
    assert abs(given[0] - given[0].T).max() < 1e-12 * abs(given[0]).max() and nodes.size == given[1].size
    solution, peer = api.solve(*given, nodes=nodes), api.solve(*elasticity.problem(name, 1)[:4])
    assert solution.fun == pytest.approx(peer.fun, rel=0.03)
    assert abs(np.count_nonzero(solution.active) - np.count_nonzero(peer.active)) <= 2
