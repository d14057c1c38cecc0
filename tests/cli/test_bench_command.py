"""`nonstick bench` as a newcomer types it: exit codes, sentences, problem files."""

import json

import numpy as np
import pytest
import scipy.sparse as sp

from nonstick.bench import Row, benchmark, registry


@pytest.fixture
def rows(monkeypatch):
    """A benchmark called "fake" that yields the rows put into this list."""
    monkeypatch.setattr(registry, "_BENCHMARKS", registry.benchmarks())
    given = []

    @benchmark("fake", "rows of a test", sizes=(8,), methods=())
    def run(plan):
        yield from given

    return given


def row(method="auto", converged=True, **more):
    return Row("fake", 8, 64, method, 5, 5, 0.1, 0.0, 1e-7 if converged else 1e-2, converged, **more)


def test_done(run, rows, tmp_path):
    rows.append(row())
    folder = tmp_path / "made" / "figures"
    assert run("bench", "fake", "--figures", folder)[0] == 0
    assert folder.is_dir()


def test_a_row_that_missed_its_tolerance_is_named_once(run, rows):
    rows += [row(), row("pgs", False, reason="stopped at the iteration limit")]
    code, out, err = run("bench", "fake")
    assert code == 2 and err.strip() == "nonstick: not converged: pgs on fake at 8"
    assert "> pgs: stopped at the iteration limit" in out  # the tables are there all the same


@pytest.mark.parametrize("limit", [("--time-limit", "1"), ("--maxiter", "3")])
def test_a_limit_that_was_asked_for_is_no_failure(run, rows, limit):
    rows.append(row("pgs", False, reason="stopped"))
    assert run("bench", "fake", *limit)[0] == 0


def test_an_ablation_that_fails_is_a_result(run, rows):
    rows.append(row("fas-mg+direct", False, reason="diverged", must_converge=False))
    assert run("bench", "fake")[0] == 0


def test_nothing_measured_at_all(run, rows):
    rows += [
        Row("fake (published)", 8, None, "fmg", 3, converged=True),
        Row("fake", 8, 64, "fmg", reason="needs a grid"),
    ]
    code, _, err = run("bench", "fake")
    assert code == 2 and err.strip() == "nonstick: nothing could be measured: needs a grid"


def test_the_list_names_tables_and_their_sizes(run):
    code, out, _ = run("bench", "--list")
    assert code == 0
    assert any(line.split()[:3] == ["lai-table1", "32", "64"] for line in out.splitlines())


def test_rows_survive_ctrl_c(run, monkeypatch, tmp_path):
    monkeypatch.setattr(registry, "_BENCHMARKS", registry.benchmarks())

    @benchmark("halfway", "one row, then Ctrl-C", sizes=(8,), methods=())
    def halfway(plan):
        yield row()
        raise KeyboardInterrupt

    path = tmp_path / "rows.json"
    code, out, err = run("bench", "halfway", "--json", path)
    assert code == 1 and err.strip() == "nonstick: interrupted; --resume continues"
    assert len(json.loads(path.read_text())) == 1 and "fake: iterations" in out
    assert (tmp_path / "rows.solves.jsonl").exists()


def test_resume_keeps_what_was_measured(run, problem, tmp_path):
    path = tmp_path / "rows.json"
    words = ("bench", problem, "--methods", "psor", "--json", path)
    assert run(*words)[0] == 0
    first = json.loads(path.read_text())
    assert run(*words, "--resume")[0] == 0
    assert json.loads(path.read_text()) == first  # seconds too: nothing was solved again
    code, _, err = run(*words, "--resume", "--rtol", "1e-3")
    assert code == 2 and "other settings" in err and err.count("\n") == 1


@pytest.mark.parametrize(
    "words, piece",
    [
        (("lai-table3",), "unknown case 'lai-table3', did you mean"),
        (("lai-table1", "--sizes", "0"), "size 0 is too small"),
        (("lai-table1", "--sizes", "2"), "domain.resolution"),
        (("lai-table1", "--methods", "pi-gm"), "unknown method 'pi-gm', did you mean 'pi-mg'"),
        (("andersen-volume", "--methods", "auto"), "remove --methods"),
        (("lai-table1", "--figures", __file__), "is a file"),
        (("nowhere.npz",), "nowhere.npz"),
        (("lai-table1", "--resume"), "--json FILE: give --json with that file"),
    ],
)
def test_mistakes_are_one_sentence(run, words, piece):
    code, out, err = run("bench", *words)
    assert code == 2 and out == "" and err.count("\n") == 1 and piece in err


@pytest.fixture
def problem(tmp_path):
    """A grid of 5 × 6 cells in mixed order, with both bounds."""
    rng = np.random.default_rng(3)
    cells = np.stack(np.meshgrid(np.arange(5), np.arange(6), indexing="ij"), -1).reshape(-1, 2)
    rng.shuffle(cells)
    near = np.abs(cells[:, None] - cells).sum(-1) == 1
    A = sp.csr_array(np.diag(np.full(30, 4.0)) - near)
    path = tmp_path / "mine.npz"
    np.savez(path, A_data=A.data, A_indices=A.indices, A_indptr=A.indptr, b=rng.normal(size=30), upper=0.3, cells=cells)
    return path


def test_methods_side_by_side_on_a_file(run, problem):
    code, out, err = run("bench", problem, "--methods", "auto", "pi-mg", "psor", "fmg", "--json", "-")
    rows = json.loads(out)
    assert code == 0, err
    assert [r["method"] for r in rows] == ["auto", "pi-mg", "psor", "fmg"]
    assert all(r["converged"] and r["unknowns"] == r["n"] == 30 and r["case"] == "mine.npz" for r in rows[:3])
    assert rows[3]["iterations"] is None and rows[3]["reason"]  # fmg needs a PressureProblem


def test_a_file_has_one_size(run, problem):
    code, _, err = run("bench", problem, "--sizes", "8")
    assert code == 2 and "30 unknowns" in err
