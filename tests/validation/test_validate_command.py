"""`nonstick validate`: results, their page and plots, the command."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from nonstick import NonstickError
from nonstick.cli import app
from nonstick.validation import Case, Measured, Published, Size, experiments, results
from nonstick.validation.results import page, percent, plot


def second_order(size: Size) -> Measured:
    x = np.linspace(0.0, 1.0, 20)
    return Measured({"way": 2.0 * (1.0 + 4.0 / (size.cells**2 * size.steps))}, {"path": (x, x**2)})


CASE = Case(
    "fall", "A stone falls", "Galilei 1638", (Published("way", "way", 2.0, 0.01, "m", quick=0.1),), second_order,
    quick=(Size(8),), full=(Size(8), Size(16), Size(32), Size(32, 2)), axes=("t", "y"),
    data={"measured": (np.array([0.5]), np.array([0.25]))},
)  # fmt: skip


def test_order_and_verdict():
    told = []
    full = results.run_case(CASE, True, lambda size, run: told.append((str(size), run is not None)))
    assert told[:2] == [("8 cells", False), ("8 cells", True)] and told[-1] == ("32 cells, steps / 2", True)
    assert full.order(CASE.published[0]) == pytest.approx(2.0)
    assert full.passed() and full.last.values["way"] == pytest.approx(2.0 * (1 + 2 / 32**2))
    quick = results.run_case(CASE, False)
    assert quick.passed() and np.isnan(quick.order(CASE.published[0]))
    quick.full = True  # the same error at a full size would be too large
    assert not quick.passed()


def test_the_page_has_all_results_and_the_file_keeps_them(tmp_path):
    full = results.run_case(CASE, True)
    results.save(tmp_path / "a" / "results.json", {"fall": full})
    results.save(tmp_path / "a" / "results.json", {"other": full})
    known = results.load(tmp_path / "a" / "results.json", {"fall": CASE, "other": CASE})
    assert list(known) == ["fall", "other"] and known["fall"].last.values == full.last.values
    text = page(known, "pictures")
    assert "| [fall](#fall) | way | 2.004 m | 2 m | +0.20 % | 1 % | 2.0 | pass |" in text
    assert "| 32 cells, steps / 2 | 2.004 | +0.20 % |" in text and "![A stone falls](pictures/fall.png)" in text
    (tmp_path / "a" / "results.json").write_text("{")
    with pytest.raises(NonstickError, match="damaged"):
        results.load(tmp_path / "a" / "results.json", {})


def test_a_plot_is_drawn(tmp_path):
    pytest.importorskip("matplotlib")
    plot(tmp_path / "fall.png", results.run_case(CASE, True))
    assert (tmp_path / "fall.png").stat().st_size > 10_000


def test_a_case_must_measure_what_it_compares():
    wrong = Case("x", "x", "x", CASE.published, lambda size: Measured({}), (Size(1),), (Size(1),))
    with pytest.raises(NonstickError, match="measured no 'way'"):
        results.run_case(wrong, True)


def test_small_shares_are_readable():
    assert percent(0.0123) == "+1.23 %" and percent(-3e-9) == "-3e-07 %" and percent(0.0) == "+0.00 %"


def test_the_command(tmp_path):
    done = CliRunner().invoke(app, ["validate", "--list", "--json"])
    assert json.loads(done.stdout) == {name: case.title for name, case in experiments().items()}
    done = CliRunner().invoke(app, ["validate", "suction", "--json", "--out", str(tmp_path)])
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)["suction"]["0.5"]
    assert found["passed"] and found["published"] == 1.0 and found["measured"] == pytest.approx(1.0, abs=0.02)
    assert "## suction" in (tmp_path / "validation.md").read_text()
    assert (tmp_path / "validation" / "results.json").is_file()


def test_a_wrong_name_is_a_sentence(capsys):
    with pytest.raises(SystemExit) as left:
        from nonstick.cli import main

        main(["validate", "sloosh"])
    assert left.value.code == 2 and "there is no case 'sloosh'; did you mean 'slosh'" in capsys.readouterr().err


def test_a_failure_is_an_exit_code(tmp_path, monkeypatch):
    bad = Case("x", "x", "x", CASE.published, lambda size: Measured({"way": 3.0}), (Size(1),), (Size(1),))
    monkeypatch.setattr("nonstick.validation.experiments", lambda: {"x": bad})
    done = CliRunner().invoke(app, ["validate", "x", "--out", str(tmp_path)])
    assert done.exit_code == 2 and "FAIL" in done.stdout and "0 of 1 cases pass" in done.stdout


def test_a_stopped_run_goes_on(tmp_path, monkeypatch):
    """Cases are written as soon as they have run; --resume leaves out those of the same version and sizes."""
    ran = []

    def measure(size: Size) -> Measured:
        ran.append(str(size))
        if len(ran) == 2:
            raise NonstickError("the power is gone")
        return second_order(size)

    both = {name: Case(name, "x", "x", CASE.published, measure, (Size(8),), (Size(8),)) for name in ("a", "b")}
    monkeypatch.setattr("nonstick.validation.experiments", lambda: both)
    call = ["validate", "--resume", "--out", str(tmp_path)]
    assert CliRunner().invoke(app, call).exit_code != 0
    assert "## a" in (tmp_path / "validation.md").read_text()
    done = CliRunner().invoke(app, call)
    assert done.exit_code == 0 and "a: already there" in done.output and len(ran) == 3
    assert "All were run by version" in (tmp_path / "validation.md").read_text()
    monkeypatch.setattr("nonstick.validation.results.version", lambda: "other")
    assert "already there" not in CliRunner().invoke(app, call).output
    CliRunner().invoke(app, [*call[:1], "a", *call[2:]])
    known = json.loads((tmp_path / "validation" / "results.json").read_text())
    known["b"]["version"] = "old"
    (tmp_path / "validation" / "results.json").write_text(json.dumps(known))
    assert "Version old ran b." in page(results.load(tmp_path / "validation" / "results.json", both), "x")
