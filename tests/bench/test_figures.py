"""Figures show what they are given: read back from the drawing before it is saved."""

import numpy as np
import pytest

from nonstick.bench import figures


@pytest.fixture
def drawn(monkeypatch, tmp_path):
    """`drawn(function, *content)` → the axes of the figure it draws."""

    def call(function, *content, **options):
        seen = []
        monkeypatch.setattr(figures, "finish", lambda figure, path: seen.append(figure) or True)
        assert function(tmp_path / "f.png", *content, **options)
        return seen[0].axes

    return call


def test_histogram_counts_solves(drawn):
    (axes,) = drawn(figures.histogram, {"a": [1, 1, 2, 30], "b": [2, 2, 2, 2]})
    heights = [bar.get_height() for bar in axes.patches]
    a, b = heights[: len(heights) // 2], heights[len(heights) // 2 :]
    assert a[1:3] == [2, 1] and a[-1] == 1 and sum(a) == 4  # what exceeds the axis is in its last bar
    assert b[2] == 4 and sum(b) == 4
    assert axes.get_xticklabels()[-1].get_text() == "≥ 12"


def test_quartiles_are_drawn(drawn):
    traces = [[(0, 1.0), (1, 10.0**-k)] for k in range(1, 6)]
    (axes,) = drawn(figures.spread, {"m": traces, "empty": []}, {"m": "cycles"})
    assert axes.get_xlabel() == "cycles" and "5 solves" in axes.get_title() and axes.get_yscale() == "log"
    (median,) = axes.lines
    np.testing.assert_allclose(median.get_ydata(), [1.0, 1e-3])
    low, high = (c.get_paths()[0].vertices[:, 1] for c in axes.collections)
    assert low.min() == pytest.approx(1e-5) and high.min() == pytest.approx(1e-4)


def test_medians(drawn):
    two, one = drawn(
        figures.medians, {"8²": {"x": [[(0, 1.0)], [(0, 3.0)]], "y": [[(0, 5.0)]]}, "16²": {"x": [[(0, 2.0)]]}}, "steps"
    )
    assert [line.get_ydata()[0] for line in two.lines] == [2.0, 5.0] and len(one.lines) == 1


def test_counts_of_the_paper_are_marked(drawn):
    trace = [(0, 1.0), (10, 1e-7)]
    paper = {"t": {"near": 20, "far": 900}}
    (axes,) = drawn(figures.convergence, {"t": {"near": trace, "far": trace}}, "cycles", paper, 1e-6)
    marks = [line for line in axes.lines if line.get_marker() == "D"]
    assert [(m.get_xdata()[0], m.get_ydata()[0]) for m in marks] == [(20, 1e-6)]  # a far one would squeeze the curves
    assert [t.get_text() for t in axes.get_legend().get_texts()] == ["near (paper: 20)", "far (paper: 900)"]


def test_ours_beside_the_paper(drawn):
    one, two = drawn(
        figures.beside, {"a": {32: 5.0, 64: 6.0}, "b": {32: 7.0}, "c": {}}, {"a": {64: 9.0, 256: 3.0}}, "t"
    )
    paper, ours = one.lines
    assert list(paper.get_xdata()) == [64, 256] and list(ours.get_ydata()) == [5.0, 6.0]
    assert [t.get_text() for t in two.get_xticklabels()] == ["32", "64", "256"] and one.get_yscale() == "log"
    (axes,) = drawn(figures.beside, {"a": {32: -1.0}}, {}, "t")
    assert axes.get_yscale() == "linear"


def test_solves_one_by_one_and_all(drawn):
    trace = [(0, 1.0), (1, 1e-3)]
    single, together = drawn(
        figures.solves, {"m": [trace] * 30 + [[(0, 0.0)]], "empty": [[(0, 1.0)]]}, "Newton steps", 5
    )
    assert len(single.lines) == 5 and "all 30 solves" in together.get_title()  # one had nothing to do


def test_curves_keep_their_iterations(drawn):
    (axes,) = drawn(figures.convergence, {"t": {"a": [(0, 1.0), (7, 1e-3), (9, 0.0)], "empty": []}}, "cycles")
    (line,) = axes.lines
    assert line.get_xdata().tolist() == [0, 7, 9] and line.get_ydata()[-1] == figures.FLOOR
    assert axes.get_xlabel() == "cycles"


def test_phases_and_seconds_by_size(drawn):
    parts = {16: {"setup": 0.1, "computation": 0.2}, 32: {"setup": 0.4, "computation": 1.6}}
    (axes,) = drawn(figures.phases, {"m": parts})
    assert [line.get_ydata().tolist() for line in axes.lines] == [[0.1, 0.4], [0.2, 1.6]]
    (axes,) = drawn(figures.by_size, {"a": {16: 0.1, 32: 0.8}, "b": {}}, "t")
    assert len(axes.lines) == 1 and [t.get_text() for t in axes.get_xticklabels()] == ["16", "32"]


def test_volume_has_a_panel_per_scene(drawn):
    t = np.array([0.0, 1.0])
    first, second = drawn(figures.volume, {"s1": {"slip": (t, t), "separating": (t, -t)}, "s2": {"slip": (t, 2 * t)}})
    assert len(first.lines) == 3 and len(second.lines) == 2  # and the line at zero


@pytest.mark.parametrize(
    "function, content",
    [
        (figures.histogram, ({"a": []},)),
        (figures.convergence, ({"t": {"a": []}},)),
        (figures.spread, ({"a": [[]]}, {})),
        (figures.medians, ({"a": {"x": [[]]}}, "steps")),
        (figures.by_size, ({"a": {}}, "t")),
    ],
)
def test_nothing_to_draw(function, content, tmp_path):
    assert not function(tmp_path / "f.png", *content) and not list(tmp_path.iterdir())
