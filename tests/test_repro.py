"""Files that once crashed, hung or misled: each is answered in one sentence, or solved.

They came out of a fuzzer; `tests/repro/` keeps them as they were found.
"""

import time
from pathlib import Path

import numpy as np
import pytest

import nonstick
from nonstick.cli import main
from nonstick.files.problem_file import read_problem

REPRO = Path(__file__).parent / "repro"

SENTENCES = {
    "oob1": ("indices", "save_npz"),
    "oob2": ("indices", "save_npz"),
    "oob4": ("must be < 12", "save_npz"),
    "death-1003": ("must be < 16", "save_npz"),
    "zlib": ("cannot read A_data", "numpy.savez"),
    "npyasnpz": ("not a complete zip archive", "numpy.savez"),
    "enc": ("cannot read A_data", "encrypted"),
    "hugehdr": ("has no A_data",),
    "cellsbig": ("cells span a grid", "12 unknowns", "not metres"),
}


@pytest.mark.parametrize("name", SENTENCES)
def test_a_damaged_file_gets_one_sentence(name, capsys, tmp_path):
    file = tmp_path / f"{name}.npz"
    file.write_bytes((REPRO / file.name).read_bytes())
    began = time.perf_counter()
    with pytest.raises(SystemExit) as leave:
        main(["solve", str(file)])
    seconds = time.perf_counter() - began
    text, errors = capsys.readouterr()
    assert leave.value.code == 2 and text == ""
    assert "pickle" not in errors and seconds < 30.0  # it does not hang
    assert errors.startswith("nonstick: ") and errors.count("\n") == 1 and file.name in errors, errors
    assert all(piece in errors for piece in SENTENCES[name]), errors
    assert [path.name for path in tmp_path.iterdir()] == [file.name]


SOLVED = (("comp", "auto"), ("p365", "auto"), ("p901", "auto"), ("p23", "pe-pcg"), ("p390", "auto"), ("p1936", "auto"))


@pytest.mark.parametrize("name, method", SOLVED)
def test_a_sound_file_is_solved(name, method):
    problem = read_problem(REPRO / f"{name}.npz")
    solution = nonstick.solve(problem.A, problem.b, problem.lower, problem.upper, cells=problem.cells, method=method)
    assert solution.converged, solution.message


@pytest.mark.parametrize(
    "name, method", [("p1936", "newton"), ("p390", "saamg-mprgp"), ("p390", "pgs"), ("p390", "saamg-cg")]
)
@pytest.mark.slow
def test_a_failure_is_a_status_and_no_worse_than_the_start(name, method):
    problem = read_problem(REPRO / f"{name}.npz")
    solution = nonstick.solve(problem.A, problem.b, problem.lower, problem.upper, method=method)
    start = np.clip(np.zeros(solution.x.size), problem.lower, problem.upper)
    assert not solution.converged and "take another method" in solution.message
    assert solution.kkt() <= solution.problem.kkt(start)
