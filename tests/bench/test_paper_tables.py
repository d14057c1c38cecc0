"""Every table over simulations at a size that takes seconds: rows, published numbers, figures."""

import gc
import re
from dataclasses import replace

import numpy as np
import pytest

from nonstick.bench import figures, get, measure, problems, tables
from nonstick.bench.problems import first_of, snapshots
from nonstick.bench.row import Journal, Row
from nonstick.bench.runner import Runner
from nonstick.errors import NonstickError


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(gc, "collect", lambda: 0)  # only memory figures need it, and it is most of the time


@pytest.fixture
def table(tmp_path):
    """`table(name, sizes, methods)` → our rows, the published ones, names of the figures; `change` is for all parts."""

    def run(name, sizes, methods=(), change=None, **options):
        shares = []
        plan = get(name).plan(sizes, methods, folder=tmp_path, done=shares.append, **options)
        found = tables.tables()[name]
        found = replace(found, parts=tuple(replace(part, **(change or {})) for part in found.parts))
        rows = list(Runner(found, plan).run())
        assert shares == sorted(shares) and shares[0] >= 0 and 0.5 < shares[-1] <= 1 + 1e-12
        paper = [row for row in rows if row.case.endswith("(published)")]
        names = [path.name for path in plan.drawn]
        assert all(has_ink(tmp_path / name) for name in names)
        return [row for row in rows if row not in paper], paper, names

    return run


def has_ink(path):
    """Whether a picture shows more than a blank page or a single frame."""
    from matplotlib.image import imread

    return (imread(path)[..., :3].min(axis=2) < 0.98).mean() > 0.02


@pytest.mark.slow
@pytest.mark.parametrize("name", ["lai-table1", "lai-table2", "lai-table7"])
def test_averages(table, name):
    methods = ("fas-mg", "pi-mg", "no-lcp", "auto")
    ours, paper, drawn = table(name, (16,), methods, frames=3)
    assert [row.method for row in ours] == list(methods)
    assert all((row.converged and row.kkt <= 1e-6) or row.method == "no-lcp" for row in ours)
    assert all(row.case == name and row.n == 16 and row.iterations > 0 and row.seconds > 0 for row in ours)
    assert {row.n for row in paper} >= {32, 64, 128}
    assert drawn == [f"bench-{name}-16-outer.png", f"bench-{name}-16-convergence.png", f"bench-{name}.png"]


def test_published_lines_carry_outer_iterations_and_seconds(table):
    _, paper, _ = table("lai-table1", (8,), ("auto",), frames=3)
    of = {(row.n, row.method): row for row in paper}
    got = of[32, "pi-mg"]
    assert (got.iterations, got.outer_iterations, got.seconds) == (7.59, 1.12, 0.0028)
    assert of[32, "fas-mg"].outer_iterations is None


@pytest.mark.slow
@pytest.mark.parametrize("name, frame", [("lai-table9", 10), ("lai-table10", 70), ("lai-table11", 10)])
def test_single_solves(table, monkeypatch, name, frame):
    assert tables.tables()[name].parts[0].frames == frame
    printed = [*tables.published(name), Row(f"{name} (published)", 16, None, "fas-mg", 7.0, converged=True)]
    monkeypatch.setattr(tables, "published", lambda table: printed)
    marked = {}
    real = figures.convergence

    def convergence(panels, units, paper, goal):
        marked.update({curve: paper[title].get(curve) for title, curves in panels.items() for curve in curves})
        return real(panels, units, paper, goal)

    monkeypatch.setattr(figures, "convergence", convergence)
    ours, paper, drawn = table(name, (16,), ("fas-mg", "pi-mg", "auto"), frames=2)
    # policy methods are shown with the policy of the substep before, and without
    assert [(row.case, row.method) for row in ours] == [
        (name, "fas-mg"), (name, "pi-mg"), (f"{name} from zero", "pi-mg"), (name, "auto"), (f"{name} from zero", "auto")
    ]  # fmt: skip
    assert all(row.converged for row in ours) and len(paper) == 28 + 1
    assert marked == {"fas-mg": 7.0, "pi-mg": None, "auto": None}  # the paper's count is in the figure
    assert drawn == [f"bench-{name}-16.png", f"bench-{name}.png"]


@pytest.mark.slow
def test_variants_of_fas(table):
    ours, paper, drawn = table("lai-table12", (16,), frames=1)
    assert [row.method for row in ours] == list(get("lai-table12").methods)
    by = {row.method: row for row in ours}
    assert by["fas-mg"].converged and by["fas-mg"].must_converge and not by["fas-mg+pwc"].must_converge
    assert by["fas-mg+pwc"].iterations > by["fas-mg+literal"].iterations  # what the table is about
    assert sum(row.iterations is None and "diverged" in row.reason for row in paper) == 4
    assert drawn == ["bench-lai-table12-16.png", "bench-lai-table12.png", "bench-lai-table12-seconds.png"]


def test_fixed_work(table):
    ours, paper, drawn = table("cm-table1", (16,), frames=2, change={"stride": 2})
    assert drawn == ["bench-cm-table1.png"]
    scenes = ("ball-box", "dam-break-box", "rotated-box", "dam-break-sphere")
    assert [row.method for row in ours] == [f"{scene}{label}" for scene in scenes for label in ("", " LCP")]
    assert all(row.iterations == 7 for row in ours if row.kkt > 1e-14)
    assert not any(row.missed for row in ours)
    assert [row.extra["LCP slower by %"] for row in paper if row.extra] == [11.89, 12.07, 12.01, 11.77]
    assert all("LCP slower by %" in row.extra for row in ours if row.method.endswith("LCP"))


#: not in free fall at first
IN_3D = {"scene": "sphere", "stride": 1}


@pytest.mark.slow
def test_price_of_bounds(table):
    pairs_of = tables.tables()["andersen-table1"].parts[0].pairs
    ours, paper, drawn = table("andersen-table1", (16, 24), frames=1)
    assert not any(row.missed for row in ours)
    alone, _, drawn_3d = table("andersen-table1", (24,), only=("3D",), frames=2, change=IN_3D)
    assert [(row.n, row.method) for row in alone] == [(12, "newton+paper"), (12, "newton")]
    assert {row.case for row in alone} == {"andersen-table1 3D"} and drawn_3d == ["bench-andersen-table1-figure8.png"]
    ours = [row for row in ours if row.case == "andersen-table1"]
    solves = [row for row in ours if not row.extra]
    pairs = [row for row in ours if row.extra]
    labels = [label for pair in pairs_of.values() for label in pair]
    assert [row.method for row in solves] == 2 * labels
    assert [row.method for row in pairs] == 2 * list(pairs_of)
    for row in pairs:
        linear, lcp = (next(r for r in solves if r.n == row.n and r.method == m) for m in pairs_of[row.method])
        assert row.extra["LCP slower by %"] == pytest.approx(100 * (lcp.cpu_seconds / linear.cpu_seconds - 1), abs=0.1)
    assert {row.n: row.extra["LCP slower by %"] for row in paper} == {64: 15, 128: 25, 256: 15, 512: 16, 1024: 5}
    assert drawn == [f"bench-andersen-table1{what}.png" for what in ("-16-figure11", "-24-figure11", "", "-figure10")]


@pytest.mark.slow
def test_sub_solvers(table):
    ours, paper, drawn = table("andersen-solvers", (12,), frames=2)
    assert all(row.converged for row in ours)
    assert len(ours) == 4 * (9 + 12)
    assert {(row.case, row.method, row.iterations) for row in paper} == {
        ("andersen-solvers linear CG (published)", "identity", 125),
        ("andersen-solvers linear CG (published)", "static-scaled", 40),
    }
    assert drawn == [f"bench-andersen-solvers-figure{k}.png" for k in (12, 13, 14)]


@pytest.mark.slow
def test_accuracy_of_the_sub_solver(table):
    ours, _, drawn = table("andersen-xi", (8, 12))
    assert [row.method for row in ours if row.n == 8] == [f"xi={xi:g}" for xi in (0.5, 0.1, 0.01, 1e-3, 1e-4, 1e-5)]
    close = [float(row.method.removeprefix("xi=")) for row in ours if row.n == 12]  # figure 17
    assert len(close) == 15 and close == sorted(close, reverse=True) and {0.5, 0.1, 1e-5} <= set(close)
    assert all(row.converged for row in ours)
    assert drawn == ["bench-andersen-xi-figure16.png", "bench-andersen-xi-figure17.png"]


@pytest.mark.slow
def test_volume(table):
    ours, _, drawn = table("andersen-volume", (12,), frames=3)
    assert [(row.case, row.method) for row in ours] == [
        (f"andersen-volume, {walls}", f"scene {k}")
        for k in range(1, 6)
        for walls in ("slip", "separating", "separating, evened out")
    ]
    for row in ours:
        low, end, high = (row.extra[f"{k} in %"] for k in (
            "smallest volume change", "volume change after 0.1 s", "largest volume change"))  # fmt: skip
        assert low <= end <= high and low <= 0 <= high and low > -60 and high < 60
    assert drawn == ["bench-andersen-volume-12.png"]


def test_momentum_of_slip_and_separating_walls():
    plan = get("andersen-momentum").plan((8, 12), only=("andersen-2",), frames=3)
    of = {(row.n, row.method): row.extra for row in get("andersen-momentum").run(plan)}
    assert list(of) == [(n, walls) for n in (8, 12) for walls in ("slip", "separating")]
    assert of[12, "separating"]["momentum differs by %"] == 0.0 < of[12, "slip"]["momentum differs by %"]
    assert all(0.0 < extra["energy left in %"] <= 100.2 for extra in of.values())  # 8 cells: 100.07


@pytest.mark.slow
def test_a_table_that_was_stopped_goes_on(tmp_path, monkeypatch):
    """The second run solves nothing that the first has solved, and its rows are those of an unbroken run."""
    solved = []
    real = measure.api.solve_problem

    def solve(*args, **options):
        if len(solved) == stop:
            raise KeyboardInterrupt
        solved.append(args[1])
        return real(*args, **options)

    monkeypatch.setattr(measure.api, "solve_problem", solve)
    lost = ("seconds", "setup_seconds", "cpu_seconds")

    def run(resume):
        plan = get("lai-table1").plan((16,), ("fas-mg", "auto"), folder=tmp_path, frames=3)
        plan = replace(plan, journal=Journal(tmp_path / "rows.solves.jsonl", {"rtol": 1e-6}, resume))
        rows = []
        try:
            rows += [row for row in get("lai-table1").run(plan) if not row.case.endswith("(published)")]
        except KeyboardInterrupt:
            return None
        return [{k: v for k, v in row.asdict().items() if k not in lost} for row in rows], len(plan.journal)

    stop = -1
    unbroken, known = run(resume=False)
    once = len(solved)
    assert known == 0 and unbroken[0]["iterations"] > 0
    solved.clear()
    stop = 5
    assert run(resume=False) is None and len(solved) == 5
    stop = -1
    again, known = run(resume=True)
    assert again == unbroken and known > 0 and len(solved) < 5 + once


def test_an_interrupted_average_is_shown(monkeypatch):
    def few(*args, **keys):
        yield from list(snapshots("circle", 16, 1))[:2]
        raise KeyboardInterrupt

    monkeypatch.setattr(problems, "snapshots", few)
    found = get("lai-table1").run(get("lai-table1").plan((16,), ("auto",), frames=3))
    row = next(row for row in found if not row.case.endswith("(published)"))
    assert row.method == "auto" and row.iterations > 0 and row.reason == "stopped in frame 1 of 3"
    with pytest.raises(KeyboardInterrupt):
        next(found)


@pytest.mark.parametrize("name", ["cm-table1", "andersen-table1", "andersen-solvers", "andersen-xi", "andersen-volume"])
def test_tables_with_methods_of_their_own_refuse_others(name):
    with pytest.raises(NonstickError, match="remove --methods"):
        list(get(name).run(get(name).plan((12,), ("newton",))))


def test_snapshots_carry_the_policy_of_the_substep_before():
    found = list(snapshots("circle", 16, 2))
    assert found[0].active is None and [s.frame for s in found] == sorted(s.frame for s in found)
    assert [s.substep for s in found if s.frame == 2] == list(range(sum(s.frame == 2 for s in found)))
    first, second = found[:2]
    solution = first.problem.solve("auto", rtol=1e-10)
    expected = second.problem.rows.from_grid(first.problem.rows.to_grid(solution.active))
    assert (second.active == expected).mean() > 0.99 and (second.active != 0).any()


@pytest.mark.parametrize("viscosity", [0.0, 10.0])
def test_snapshots_are_built_afresh(viscosity):
    """With viscosity a step has further solves, of what is left: the snapshot is the first one."""
    snapshot = first_of("circle", 16, 2, **{"physics.viscosity": viscosity})
    assert snapshot.frame == 2 and snapshot.substep == 0
    fresh, solved = snapshot.build(), snapshot.problem.problem
    assert fresh.n == snapshot.problem.rows.n and fresh is not solved
    assert np.array_equal(fresh.b, solved.b)  # the step goes on to use the arrays of its problem's velocity
    assert (solved.box.lower == 0.0).any() and np.isin(solved.box.lower, (0.0, -np.inf)).all()  # those of the first one
    assert fresh.box.constrained.any() and not snapshot.build("none").box.constrained.any()


def test_help_names_tables_that_exist():
    from nonstick.bench import benchmarks
    from nonstick.cli.bench import _help

    named = set(re.findall(r"\b(?:lai|cm|andersen|tb|visc)-[a-z0-9]+\b", _help()))
    assert named <= set(benchmarks())
    asked = (
        {f"lai-table{k}" for k in (1, 2, 7, 9, 10, 11, 12)}
        | {"cm-table1"}
        | {f"andersen-{k}" for k in ("table1", "volume", "solvers", "xi")}
    )
    assert asked <= named
