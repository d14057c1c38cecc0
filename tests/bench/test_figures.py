"""Figures show what a runner has found: read back from the drawing before it is saved."""

from types import SimpleNamespace

import numpy as np
import pytest

from nonstick.bench import figures
from nonstick.bench.row import Row
from nonstick.bench.runner import Solve
from nonstick.bench.tables import Part

NAME = "lai-table1"


def runner(solves=(), rows=(), **more):
    """What a runner of a table holds; a solve is (size, method, row, trace)."""
    part = Part(NAME, scene="s", frames=3)
    return SimpleNamespace(
        solves=[Solve(part, *of) for of in solves], rows=list(rows), parts=[part], table=SimpleNamespace(name=NAME),
        plan=SimpleNamespace(frames=3, rtol=1e-6, samples=None, sizes=(8,)), **more,
    )  # fmt: skip


def traced(method, *traces, n=8):
    return [(n, method, None, trace) for trace in traces]


def row(n, method, case=NAME, **numbers):
    return Row(case, n, None, method, **numbers)


@pytest.fixture
def drawn(monkeypatch, tmp_path):
    """`drawn(figure)` → the axes of the figure."""

    def call(figure):
        seen = []
        monkeypatch.setattr(figures, "finish", lambda figure, path: seen.append(figure) or True)
        assert figure.draw(tmp_path / "f.png")
        return seen[0].axes

    return call


def test_histogram_counts_solves(drawn):
    counts = {"pi-mg": [1, 1, 2, 30], "pe-mg": [2, 2, 2, 2], "fas-mg": [1]}
    solves = [(8, m, row(8, m, outer_iterations=k), []) for m, of in counts.items() for k in of]
    (axes,) = drawn(figures.histogram(runner(solves), {}, 8))
    heights = [bar.get_height() for bar in axes.patches]
    a, b = heights[: len(heights) // 2], heights[len(heights) // 2 :]
    assert a[1:3] == [2, 1] and a[-1] == 1 and sum(a) == 4  # what exceeds the axis is in its last bar
    assert b[2] == 4 and sum(b) == 4
    assert axes.get_xticklabels()[-1].get_text() == "≥ 12"


def test_quartiles_are_drawn(drawn):
    traces = [[(0, 1.0), (1, 10.0**-k)] for k in range(1, 6)]
    (axes,) = drawn(figures.spread(runner(traced("fas-mg", *traces) + traced("empty", [])), {}, 8))
    assert axes.get_xlabel() == "cycles" and "5 solves" in axes.get_title() and axes.get_yscale() == "log"
    (median,) = axes.lines
    np.testing.assert_allclose(median.get_ydata(), [1.0, 1e-3])
    low, high = (c.get_paths()[0].vertices[:, 1] for c in axes.collections)
    assert low.min() == pytest.approx(1e-5) and high.min() == pytest.approx(1e-4)


def test_medians(drawn):
    solves = traced("x", [(0, 1.0)], [(0, 3.0)]) + traced("y", [(0, 5.0)]) + traced("x", [(0, 2.0)], n=16)
    small, large = drawn(figures.medians(runner(solves), {}, 16))
    assert [line.get_ydata()[0] for line in small.lines] == [2.0] and len(large.lines) == 1  # what both sizes have
    (axes,) = drawn(figures.medians(runner(solves), {"largest": True}, 8))
    assert [line.get_ydata()[0] for line in axes.lines] == [2.0, 5.0]


def test_counts_of_the_paper_are_marked(drawn):
    trace = [(0, 1.0), (10, 1e-7)]
    paper = {"t": {"near": 20, "far": 900}}
    (axes,) = drawn(figures.convergence({"t": {"near": trace, "far": trace}}, "cycles", paper, 1e-6))
    marks = [line for line in axes.lines if line.get_marker() == "D"]
    assert [(m.get_xdata()[0], m.get_ydata()[0]) for m in marks] == [(20, 1e-6)]  # a far one would squeeze the curves
    assert [t.get_text() for t in axes.get_legend().get_texts()] == ["near (paper: 20)", "far (paper: 900)"]


def test_ours_beside_the_paper(drawn, monkeypatch):
    paper = [row(n, "a", f"{NAME} (published)", iterations=k) for n, k in ((64, 9.0), (256, 3.0))]
    monkeypatch.setattr(figures.tables, "published", lambda name: paper)
    rows = [row(32, "a", iterations=5.0), row(64, "a", iterations=6.0), row(32, "b", iterations=7.0), row(32, "c")]
    one, two = drawn(figures.beside(runner(rows=rows), {"title": "t"}, 64))
    printed, ours = one.lines
    assert list(printed.get_xdata()) == [64, 256] and list(ours.get_ydata()) == [5.0, 6.0]
    assert [t.get_text() for t in two.get_xticklabels()] == ["32", "64", "256"] and one.get_yscale() == "log"
    (axes,) = drawn(figures.beside(runner(rows=[row(32, "b", iterations=-1.0)]), {"title": "t"}, 32))
    assert axes.get_yscale() == "linear"


def test_solves_one_by_one_and_all(drawn):
    traces = [[(0, 1.0), (1, 1e-3)]] * 30 + [[(0, 0.0)]]
    solves = traced("m", *traces) + traced("empty", [(0, 1.0)])
    single, together = drawn(figures.solves(runner(solves), {}, 8, shown=5))
    assert len(single.lines) == 5 and "all 30 solves" in together.get_title()  # one had nothing to do


def test_curves_keep_their_iterations(drawn):
    (axes,) = drawn(figures.convergence({"t": {"a": [(0, 1.0), (7, 1e-3), (9, 0.0)], "empty": []}}, "cycles", {}, 1e-6))
    (line,) = axes.lines
    assert line.get_xdata().tolist() == [0, 7, 9] and line.get_ydata()[-1] == figures.FLOOR
    assert axes.get_xlabel() == "cycles"


def test_phases_and_seconds_by_size(drawn):
    rows = [row(16, "m", seconds=0.5, setup_seconds=0.1), row(32, "m", seconds=2.0, setup_seconds=0.4)]
    notes = {("2D", n): [{"initialisation": 1.0, "finalisation": 2.0}] for n in (16, 32)}
    (axes,) = drawn(figures.phases(runner(rows=rows, notes=notes), {"part": "2D"}, 32))
    assert [list(line.get_ydata()) for line in axes.lines] == [[1, 1], [0.1, 0.4], [0.4, 1.6], [2, 2]]
    (axes,) = drawn(figures.by_size(runner(rows=rows), {"title": "t", "curves": {"a": "m", "b": "absent"}}, 32))
    assert len(axes.lines) == 1 and [t.get_text() for t in axes.get_xticklabels()] == ["16", "32"]


def test_volume_has_a_panel_per_scene(drawn):
    curve = np.array([[0.0, 1.0], [1.0, 1.5]])
    curves = {("s1", 8, "slip"): curve, ("s1", 8, "separating"): curve, ("s2", 8, "slip"): curve}
    first, second = drawn(figures.volume(runner(curves=curves), {}, 8))
    assert len(first.lines) == 3 and len(second.lines) == 2  # and the line at zero
    assert list(first.lines[0].get_ydata()) == [0.0, 50.0]


@pytest.mark.parametrize("kind", ["histogram", "spread", "solves", "single", "profile"])
def test_nothing_to_draw(kind, tmp_path):
    empty = [(8, "pi-mg", row(8, "pi-mg"), [])] if kind != "profile" else []
    assert not getattr(figures, kind)(runner(empty), {}, 8).draw(tmp_path / "f.png") and not list(tmp_path.iterdir())
