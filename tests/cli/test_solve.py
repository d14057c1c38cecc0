"""`nonstick solve`: files in, files out, exit codes, and one sentence for every mistake."""

import gzip
import json

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp

N = 12
A = sp.csr_array(sp.diags_array([-1.0, 2.1, -1.0], offsets=[-1, 0, 1], shape=(N, N)))
B = np.cos(np.arange(N))


def parts(**more):
    return {"A_data": A.data, "A_indices": A.indices, "A_indptr": A.indptr, "b": B} | more


@pytest.fixture
def npz(tmp_path):
    path = tmp_path / "problem.npz"
    np.savez(path, **parts())
    return path


def optimal(x, b=B, lower=0.0, upper=np.inf, matrix=A):
    g, d = matrix @ x - b, matrix.diagonal()
    return np.abs(d * (x - np.clip(x - g / d, lower, upper))).max() <= 1e-6 * np.abs(b).max()


def test_npz_in_npz_and_json_out(run, npz, tmp_path):
    row, out = tmp_path / "row.json", tmp_path / "answer.npz"
    code, text, _ = run("solve", npz, "--method", "pgs", "--out", out, "--json", row)
    assert code == 0 and str(out) in text
    with np.load(out) as file:
        assert optimal(file["x"]) and bool(file["converged"])
        np.testing.assert_allclose(file["dual"], A @ file["x"] - B, atol=1e-12)
    told = json.loads(row.read_text())
    assert told["converged"] is True and told["unknowns"] == N and told["method"] == "pgs" and told["kkt"] <= 1e-6
    assert {"iterations", "outer_iterations", "seconds", "setup_seconds", "status", "message"} <= told.keys()


def test_the_answer_lies_beside_the_problem_by_default(run, npz, tmp_path):
    assert run("solve", npz, "-m", "pgs")[0] == 0
    assert {path.name for path in tmp_path.iterdir()} == {"problem.npz", "problem-solution.npz"}


def test_bounds_and_cells_of_the_file(run, tmp_path):
    order = np.random.default_rng(1).permutation(N)
    cells = np.stack([np.zeros(N, int), np.arange(N)], axis=1)[order]
    M = sp.csr_array(A[order][:, order])
    path = tmp_path / "shuffled.npz"
    lower, upper = np.full(N, -0.2), np.float64(0.4)
    np.savez(
        path, A_data=M.data, A_indices=M.indices, A_indptr=M.indptr, b=B[order], lower=lower, upper=upper, cells=cells
    )
    assert run("solve", path, "-m", "pgs")[0] == 0
    with np.load(tmp_path / "shuffled-solution.npz") as file:
        assert optimal(file["x"], B[order], -0.2, 0.4, M)


def test_json_dash_prints_nothing_else(run, npz):
    code, text, _ = run("solve", npz, "-m", "pgs", "--json", "-")
    assert code == 0 and json.loads(text)["converged"] is True


@pytest.mark.parametrize("kind", ["mtx", "mtx.gz", "scipy"])
def test_bare_matrices(run, kind, tmp_path):
    path = tmp_path / ("m.npz" if kind == "scipy" else "m.mtx")
    if kind == "scipy":
        sp.save_npz(path, A)
    else:
        scipy.io.mmwrite(path, A, symmetry="symmetric")
    if kind == "mtx.gz":
        packed = tmp_path / "m.mtx.gz"
        packed.write_bytes(gzip.compress(path.read_bytes()))
        path = packed
    assert run("solve", path, "-m", "pgs")[0] == 0
    with np.load(tmp_path / ("m-solution.npz" if kind == "scipy" else f"{path.name}-solution.npz")) as file:
        assert optimal(file["x"], np.ones(N))


@pytest.mark.parametrize("form", ["npy", "mtx", "txt"])
def test_rhs_and_bounds_from_files(run, form, tmp_path):
    matrix, rhs = tmp_path / "m.mtx", tmp_path / f"b.{form}"
    scipy.io.mmwrite(matrix, A)
    if form == "npy":
        np.save(rhs, B)
    elif form == "mtx":
        scipy.io.mmwrite(rhs, B[:, None])
    else:
        np.savetxt(rhs, B)
    np.save(tmp_path / "upper.npy", np.full(N, 0.3))
    code, _, errors = run("solve", matrix, "-m", "pgs", "--rhs", rhs, "--lower=-inf", "--upper", tmp_path / "upper.npy")
    assert code == 0, errors
    with np.load(tmp_path / "m.mtx-solution.npz") as file:
        assert optimal(file["x"], B, -np.inf, 0.3)


def test_solutions_of_different_problems_are_different_files(run, npz, tmp_path):
    """Names that begin alike are different problems."""
    names = ["p.npz", "p.mtx", "p.mtx.gz", "p.mtx.npz", "p.a.npz", "p.b.npz", "p.a.mtx"]
    for k, name in enumerate(names):
        path = tmp_path / name
        if name.endswith(".npz"):
            np.savez(path, **parts(b=B + k))
        else:
            scipy.io.mmwrite(tmp_path / "bare.mtx", A * (k + 1.0))
            content = (tmp_path / "bare.mtx").read_bytes()
            path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    written = [json.loads(run("solve", tmp_path / name, "-m", "pgs", "--json", "-")[1])["solution"] for name in names]
    assert len(set(written)) == len(names)
    for k, (name, solution) in enumerate(zip(names, written)):
        with np.load(solution) as file:
            if name.endswith(".npz"):
                assert optimal(file["x"], B + k), name
            else:
                assert optimal(file["x"], np.ones(N), matrix=A * (k + 1.0)), name


def test_a_solution_does_not_overwrite_a_problem(run, npz, tmp_path):
    np.savez(tmp_path / "problem-solution.npz", **parts(b=2 * B))
    code, _, errors = run("solve", npz, "-m", "pgs")
    assert code == 2 and "would overwrite the problem in" in errors and "--out" in errors
    with np.load(tmp_path / "problem-solution.npz") as file:
        assert np.array_equal(file["b"], 2 * B)


@pytest.mark.parametrize("command", ["solve", "bench"])
def test_results_do_not_overwrite_a_problem(run, npz, command):
    before = npz.read_bytes()
    code, _, errors = run(command, npz, "--json", npz)
    assert code == 2 and "choose a name that ends in .json" in errors and npz.read_bytes() == before


def test_not_converged_is_exit_code_2_and_still_written(run, npz, tmp_path):
    code, _, errors = run("solve", npz, "-m", "pgs", "--rtol", "1e-14", "--maxiter", "1", "--json", tmp_path / "r.json")
    assert code == 2 and "not converged" in errors and "maxiter" in errors
    assert json.loads((tmp_path / "r.json").read_text())["converged"] is False
    with np.load(tmp_path / "problem-solution.npz") as file:
        assert not bool(file["converged"]) and file["x"].shape == (N,)


def without(*keys):
    return {key: value for key, value in parts().items() if key not in keys}


MISTAKES = {
    "key missing": (without("b", "A_indptr"), (), ("has no A_indptr, b",)),
    "key misspelt": (parts(Lower=0.0), (), ("'Lower'", "did you mean 'lower'")),
    "index out of range": (parts(A_indices=A.indices + 5), (), ("names column 16", "12 rows")),
    "index negative": (parts(A_indices=A.indices - 1), (), ("names column -1",)),
    "indices not integers": (parts(A_indices=A.indices * 1.0), (), ("must be integers",)),
    "parts disagree": (parts(A_data=A.data[:-1]), (), ("disagree", "33 values")),
    "indptr not rising": (parts(A_indptr=A.indptr[::-1]), (), ("disagree",)),
    "indptr empty": (parts(A_indptr=A.indptr[:0]), (), ("must be vectors",)),
    "b too short": (parts(b=B[:-1]), (), ("b has shape (11)",)),
    "NaN": (parts(A_data=np.where(np.arange(34) == 3, np.nan, A.data)), (), ("is nan",)),
    "objects": (parts(b=np.array([None] * N)), (), ("not a readable .npz",)),
    "unknown method": (parts(), ("-m", "psorr"), ("unknown method 'psorr'", "'psor'")),
    "bad rtol": (parts(), ("--rtol", "0"), ("rtol must be positive",)),
    "bad maxiter": (parts(), ("--maxiter", "0"), ("maxiter must be",)),
    "bounds crossed": (parts(), ("--lower", "2", "--upper", "1"), ("lower is above upper at unknown 0",)),
    "bound unreadable": (parts(), ("--lower", "nothing.npy"), ("--lower takes a number", "nothing.npy")),
    "rhs unreadable": (parts(), ("--rhs", "nothing.npy"), ("nothing.npy", "No such file")),
    "out of another kind": (parts(), ("--out", "x.mat"), ("written as .npz",)),
    "out in no directory": (parts(), ("--out", "no/where/x.npz"), ("no directory no/where",)),
    "json in no directory": (parts(), ("--json", "no/where/x.json"), ("no directory no/where",)),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_gets_one_sentence(run, mistake, tmp_path, monkeypatch):
    content, options, pieces = MISTAKES[mistake]
    monkeypatch.chdir(tmp_path)
    np.savez("problem.npz", **content)
    code, text, errors = run("solve", "problem.npz", *(() if "-m" in options else ("-m", "pgs")), *options)
    assert code == 2 and text == ""
    assert all(piece in errors for piece in pieces), errors
    assert errors.startswith("nonstick: ") and errors.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["problem.npz"], "nothing half-written is left"


@pytest.mark.parametrize(
    "name, content, piece",
    [
        ("missing.npz", None, "No such file"),
        ("missing.mtx", None, "No such file"),
        ("garbage.npz", b"not a zip file", "not a readable .npz"),
        ("cut.npz", b"PK\x03\x04 and then nothing", "not a readable .npz"),
        ("empty.npz", b"", "not a readable .npz"),
        ("garbage.mtx", b"hello\n1 2 3\n", "not a Matrix Market file"),
        ("empty.mtx", b"", "not a Matrix Market file"),
        ("wide.mtx", b"%%MatrixMarket matrix coordinate real general\n2 3 1\n1 1 1.0\n", "square"),
        ("table.csv", b"1,2\n", "must end in .npz or .mtx"),
    ],
)
def test_unreadable_files(run, name, content, piece, tmp_path):
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    code, text, errors = run("solve", path, "-m", "pgs")
    assert code == 2 and text == "" and piece in errors and errors.count("\n") == 1, errors


@pytest.mark.parametrize("name", [".", "", "/"])
def test_a_folder_is_no_problem(run, name):
    code, text, errors = run("solve", name)
    assert code == 2 and text == "" and "is a folder" in errors and errors.count("\n") == 1, errors


def test_the_problem_is_never_replaced_by_its_solution(run, npz):
    before = npz.read_bytes()
    code, _, errors = run("solve", npz, "-m", "pgs", "--out", npz)
    assert code == 2 and "overwrite the problem file" in errors
    assert npz.read_bytes() == before
