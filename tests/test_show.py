"""Objects show themselves: a line in a terminal, a table in a notebook, a picture of a solution."""

import numpy as np
import pytest
import scipy.sparse as sp

import nonstick
from nonstick import cases
from nonstick.errors import NonstickError
from nonstick.scenes import Scene
from nonstick.sim import simulate

LINE = sp.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(20, 20))
B = np.where(np.arange(20) < 8, -0.1, 0.2)


def things():
    case = cases.build("circle2d", 12)
    heat = Scene.load("heat", {"domain.resolution": 12})
    liquid = Scene.load("circle", {"domain.resolution": 12})
    return {
        "bare problem": (nonstick.BoxProblem(LINE, B, upper=None), ("20", "CSROperator", "-0.1 to 0.2", "none")),
        "problem on a grid": (case.problem, (str(case.problem.n), "StencilOperator on 12 × 12")),
        "walls": (cases.build("circle2d", 12, walls="edge").problem, ("constraints at the wall",)),
        "pressure problem": (case.pressure_problem, ("PressureProblem", str(case.problem.n))),
        "solution": (nonstick.solve(LINE, B, method="psor"), ("psor", "converged", "of 20")),
        "pressure solution": (case.pressure_problem.solve(), ("PressureSolution", "auto")),
        "scene": (liquid, ("circle", "liquid", "12 × 12")),
        "heat scene": (heat, ("heat",)),
        "simulation": (simulate(liquid), ("Simulation", "frame 0")),
        "heat simulation": (simulate(heat), ("HeatSimulation", "frame 0")),
        "solver": (nonstick.Solver(LINE, method="psor"), ("Solver", "psor", "20")),
    }


@pytest.mark.parametrize("what", things())
def test_a_line_and_a_table(what):
    thing, pieces = things()[what]
    line = repr(thing)
    assert "\n" not in line and line.startswith(f"<{type(thing).__name__}: ")
    assert all(piece in line for piece in pieces), line
    table = thing._repr_html_()
    assert table.startswith("<table>") and table.count("<tr>") == len(thing.facts())


def test_names_of_strangers_are_harmless():
    from nonstick.core.show import Shown

    class Named(Shown):
        def facts(self):
            return {"name": "\x1b[31m<b>red</b>"}

    assert repr(Named()) == "<Named: name ?[31m<b>red</b>>"
    assert "?[31m&lt;b&gt;red&lt;/b&gt;" in Named()._repr_html_()


def test_an_object_that_is_not_complete():
    assert "not yet built" in repr(nonstick.BoxProblem.__new__(nonstick.BoxProblem))


@pytest.mark.parametrize(
    "cells, panels",
    [(None, 1), (np.arange(20)[:, None], 2), (np.stack([np.arange(20) // 5, np.arange(20) % 5], axis=1), 3),
     (np.stack([np.arange(20) // 10, np.arange(20) // 5 % 2, np.arange(20) % 5], axis=1), 1)],
    ids=["bare", "line", "plane", "space"],
)  # fmt: skip
def test_the_picture(cells, panels, tmp_path):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    solution = nonstick.solve(LINE, B, 0.0, 0.4, cells=cells, method="psor")
    path = tmp_path / "solution.png"
    figure = solution.plot(path)
    assert len(figure.axes) == panels and path.stat().st_size > 5000
    drawn = figure.axes[0].lines[0].get_ydata()
    assert np.array_equal(drawn, [r or np.nan for r in solution.history], equal_nan=True)
    if panels == 2:
        shown = [line for line in figure.axes[1].lines if len(line.get_xdata()) == 20][-1]
        assert np.array_equal(shown.get_ydata(), solution.x)
        touching = [line for line in figure.axes[1].lines if line.get_marker() == "o"]
        assert [len(line.get_xdata()) for line in touching] == [(solution.active == s).sum() for s in (-1, 1)]
    if panels == 3:
        assert np.array_equal(figure.axes[1].images[0].get_array(), solution.x.reshape(4, 5).T)
    shown = solution.plot()
    assert plt.fignum_exists(shown.number)
    plt.close(shown)


def test_without_matplotlib_a_sentence_says_how_to_get_it(monkeypatch):
    import nonstick.core.optional

    monkeypatch.setattr(nonstick.core.optional, "find_spec", lambda name: None)
    with pytest.raises(nonstick.NonstickError, match=r"pip install .*\[pictures\]'"):
        nonstick.solve(LINE, B, method="psor").plot()


@pytest.mark.parametrize(("name", "said"), [("p.xyz", "p.xyz is no picture"), ("none/p.png", "there is no folder")])
def test_a_picture_that_cannot_be_written_ends_in_a_sentence(tmp_path, name, said):
    pytest.importorskip("matplotlib")
    with pytest.raises(NonstickError, match=said):
        nonstick.solve(LINE, B, method="psor").plot(tmp_path / name)
