"""Rows are measured as `nonstick.bench.measure` says, and shown as the papers show them."""

import json

import numpy as np
import pytest
import scipy.sparse as sp
from rich.console import Console
from typer.testing import CliRunner

from nonstick import cases
from nonstick.bench import Plan, Row, benchmark, get, registry, sweep
from nonstick.bench.measure import measure
from nonstick.bench.row import print_tables, to_json
from nonstick.cli import app
from nonstick.cli.bench import _ManyValues
from nonstick.errors import NonstickError
from nonstick.operators.csr import CSROperator
from nonstick.problem.box import BoxProblem

KEYS = (
    "case", "n", "unknowns", "method", "iterations", "outer_iterations", "seconds", "setup_seconds",
    "kkt", "converged", "peak_bytes", "threads",
)  # fmt: skip


def string(n):
    """A string pulled down onto a table."""
    A = sp.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(n, n))
    return BoxProblem(CSROperator(A), np.where(np.arange(n) % 3, -1.0, 2.5))


@pytest.fixture
def case(monkeypatch):
    """A benchmark that exists for one test."""
    monkeypatch.setattr(registry, "_BENCHMARKS", registry.benchmarks())

    @benchmark("string", "a string on a table", sizes=(8, 12), methods=("pgs", "psor"))
    def run(plan):
        return sweep("string", string, plan, warm_size=6)

    return "string"


def test_rows_have_the_keys_of_the_contract():
    row = measure("string", 10, "pgs", lambda: string(10), Plan((10,), ("pgs",)))
    assert tuple(row.asdict())[: len(KEYS)] == KEYS
    assert row.converged and row.kkt <= 1e-6 and row.iterations > 0 and row.reason is None
    assert row.seconds >= row.setup_seconds >= 0.0 and row.threads >= 1 and row.unknowns == 10


def test_peak_memory_counts_what_the_solve_allocates(monkeypatch):
    from nonstick import api

    solve = api.solve_problem
    megabytes = 40

    def hungry(problem, *args, **kw):
        scratch = np.ones(megabytes * 2**17)
        assert scratch.sum() > 0
        return solve(problem, *args, **kw)

    monkeypatch.setattr(api, "solve_problem", hungry)
    row = measure("string", 10, "pgs", lambda: string(10), Plan((10,), ("pgs",)))
    if row.peak_bytes is not None:  # systems that keep no high-water mark say None
        assert megabytes * 0.9 < row.peak_bytes / 2**20 < megabytes * 1.5


def test_a_solve_that_compiled_is_measured_again():
    from nonstick.kernels import serial

    built, kernels = [], []

    def build():
        built.append(1)
        return string(10)

    class Compiling(type(get_method())):
        def solve(self, problem, start, monitor):
            if not kernels:
                kernels.append(serial(_fresh))
                kernels[0](3)
            super().solve(problem, start, monitor)

    measure("string", 10, Compiling(), build, Plan((10,), ("pgs",)))
    assert len(built) >= 2


@pytest.mark.parametrize(
    "method, label, must",
    [("pgs", "", True), ("no-lcp", "", True), ("fas-mg+literal", "", False), ("newton+paper", "", False)],
)
def test_what_must_converge(method, label, must):
    plan = Plan((16,), (method,), rtol=1e-9, maxiter=1)
    row = measure("circle2d", 16, method, lambda: cases.build("circle2d", 16).problem, plan, label)
    assert row.must_converge is must and not row.converged and row.missed is must


def test_a_changed_method_is_judged_by_the_name_it_is_shown_under():
    own = get_method()
    assert measure("s", 9, own, lambda: string(9), Plan((9,), ()), "plb").must_converge is False
    assert measure("s", 9, own, lambda: string(9), Plan((9,), ()), "mine").must_converge is True


def get_method():
    from nonstick.registry import get

    return get("pgs")


def _fresh(n):
    return n + 1


def test_a_slow_solve_is_stopped_and_does_not_count_as_converged():
    row = measure("string", 50, "pgs", lambda: string(50), Plan((50,), ("pgs",), rtol=1e-14, time_limit=0.0))
    assert not row.converged and "time limit of 0 s" in row.reason


def test_a_method_that_cannot_is_a_dash_with_its_reason():
    def impossible():
        raise NonstickError("this needs a grid")

    rows = [
        Row("string", 8, 8, "pgs", 12, 3, 0.5, 0.1, 1e-7, True, 100, 1),
        Row("string", 8, 8, "psor", 7, 7, 0.25, 0.1, 1e-3, False, 100, 1, reason="stopped early"),
        measure("string", 8, "fas-mg", impossible, Plan((8,), ("fas-mg",))),
    ]
    assert rows[2].reason == "this needs a grid" and rows[2].iterations is None and not rows[2].converged
    console = Console(record=True, width=100, force_terminal=False)
    print_tables(rows, console)
    page = console.export_text()
    assert [page.count(f"string: {title}") for title in ("iterations", "outer iterations", "seconds")] == [1, 1, 1]
    assert ">7" in page and "- fas-mg: this needs a grid (size 8)" in page and "> psor: stopped early" in page


def test_wide_tables_are_split_rather_than_cut():
    rows = [Row("c", n, n, f"some-long-method-{k}", 1000 + k, 1, 1.0, 0.0, 0.0, True) for n in (4, 8) for k in range(9)]
    console = Console(record=True, width=80, force_terminal=False)
    print_tables(rows, console)
    page = console.export_text()
    assert all(f"some-long-method-{k}" in page and str(1000 + k) in page for k in range(9))


def test_json_is_an_array_with_a_row_per_line():
    rows = [Row("c", n, n, "pgs", 1, 1, 1.0, 0.0, 0.0, True) for n in (4, 8)]
    text = to_json(rows)
    assert [row["n"] for row in json.loads(text)] == [4, 8] and len(text.splitlines()) == 4


@pytest.mark.parametrize(
    "words, meant",
    [
        ("c --sizes 8 12 --methods a b", "c --sizes 8 --sizes 12 --methods a --methods b"),
        ("--sizes 8 12 c", "--sizes 8 --sizes 12 c"),
        ("c --sizes=8,12 --methods=a,b", "c --sizes 8 --sizes 12 --methods a --methods b"),
        ("c -n 8 12 -m a --rtol 1e-3", "c -n 8 -n 12 -m a --rtol 1e-3"),
        ("c --sizes", "c --sizes"),
    ],
)
def test_many_values_after_one_option(words, meant):
    assert _ManyValues("bench")._spell_out(words.split()) == meant.split()


def test_command(case, tmp_path):
    path = tmp_path / "rows.json"
    result = CliRunner().invoke(
        app, ["bench", case, "--sizes", "8", "20", "--methods", "pgs", "psor", "--json", str(path)]
    )
    assert result.exit_code == 0, result.output
    rows = json.loads(path.read_text())
    assert [(row["n"], row["method"]) for row in rows] == [(8, "pgs"), (20, "pgs"), (8, "psor"), (20, "psor")]
    assert all(row["converged"] for row in rows)
    assert "string: iterations" in result.output and str(path) in result.output


def test_command_with_defaults_prints_json(case):
    result = CliRunner().invoke(app, ["bench", case, "--json", "-"])
    assert [row["n"] for row in json.loads(result.stdout)] == [8, 12, 8, 12]


def test_all_means_every_method_that_solves_the_problem():
    from nonstick.registry import entries

    assert set(registry.method_names(("all",))) == {name for name, entry in entries().items() if entry.complete}


@pytest.mark.parametrize(
    "words, piece",
    [
        (("strin",), "did you mean 'string'"),
        (("string", "--methods", "pqs"), "unknown method 'pqs'"),
        (("string", "--sizes", "1"), "size 1 is too small"),
        (("string", "--rtol", "-1"), "rtol"),
        (("string", "--time-limit", "-1"), "time limit"),
    ],
)
def test_mistakes(case, words, piece):
    result = CliRunner().invoke(app, ["bench", *words])
    assert isinstance(result.exception, NonstickError) and piece in str(result.exception)


def test_get_finds_a_registered_benchmark(case):
    assert get(case).sizes == (8, 12)


def test_parts_of_a_table_and_of_its_run():
    plan = get("visc-table2").plan((12,), ("visc-cg",), only=("= 0.001",))
    assert {row.case for row in get("visc-table2").run(plan) if "published" not in row.case} == {
        "visc-table2, μΔt/ρ = 0.001"
    }
    with pytest.raises(NonstickError, match="'boxes'"):
        get("visc-table2").plan(only=("spheres",))
    with pytest.raises(NonstickError, match="remove --frames"):
        get("visc-table2").plan(frames=3)
    plan = get("lai-table1").plan((12,), ("auto",), frames=4, samples=2, keys={"time.cfl": 1.0})
    row = next(row for row in get("lai-table1").run(plan) if "published" not in row.case)
    assert row.solves == 2 and row.converged


def test_a_trace_has_one_entry_for_each_newton_step():
    trace: list = []
    plan = Plan((48,), ("newton+paper",), repeats=1)
    row = measure("circle2d", 48, "newton+paper", lambda: cases.build("circle2d", 48).problem, plan, trace=trace)
    assert row.iterations > 150  # so long that the callback is also called inside the linear solves
    assert len(trace) == row.outer_iterations + 1
