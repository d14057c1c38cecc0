"""Arrays of other libraries at the door, scenes and commands that name a library."""

import json
import os

import numpy as np
import pytest
import scipy.sparse as sp
from typer.testing import CliRunner

import nonstick
from nonstick import NonstickError, cases
from nonstick.arrays.library import to_library, to_numpy
from nonstick.cli import app


def problem(n=10):
    one = sp.diags_array([-np.ones(n - 1), 2 * np.ones(n), -np.ones(n - 1)], offsets=[-1, 0, 1])
    A = sp.csr_array(sp.kron(one, sp.eye_array(n)) + sp.kron(sp.eye_array(n), one))
    b = np.random.default_rng(0).standard_normal(n * n)
    cells = np.stack(np.meshgrid(np.arange(n), np.arange(n), indexing="ij"), -1).reshape(-1, 2)
    return A, b, cells


def sparse(A, library):
    if library == "torch":
        import torch

        parts = (torch.tensor(np.array(v)) for v in (A.indptr, A.indices, A.data))
        return torch.sparse_csr_tensor(*parts, A.shape)
    import jax.numpy as jnp
    from jax.experimental.sparse import BCOO

    coo = A.tocoo()
    places = jnp.stack([jnp.asarray(coo.row), jnp.asarray(coo.col)], axis=1)
    return BCOO((jnp.asarray(coo.data, dtype=jnp.float32), places), shape=A.shape)


@pytest.mark.parametrize("library, method", [("torch", "auto"), ("torch", "auto-array"), ("jax", "auto")])
@pytest.mark.parametrize("form", ["dense", "sparse"])
def test_what_goes_in_comes_out(library, form, method):
    if library == "torch" and not os.environ.get("NONSTICK_ARRAYS"):
        pytest.importorskip("torch", reason="PyTorch's CPU build is not on the package index: make test-arrays")
    A, b, cells = problem()
    dtype = "float32" if library == "jax" else "float64"
    expected = nonstick.solve(A, b, -0.2, 0.3, cells=cells, rtol=1e-9).x
    given = sparse(A, library) if form == "sparse" else to_library(A.toarray(), library, None, dtype)
    right = to_library(b, library, None, dtype)
    found = nonstick.solve(given, right, -0.2, 0.3, cells=cells, method=method, rtol=1e-5 if library == "jax" else 1e-9)
    assert found.converged and type(found.x) is type(right) and found.x.dtype == right.dtype
    assert found.dual.shape == right.shape and set(np.unique(to_numpy(found.active))) == {-1, 0, 1}
    np.testing.assert_allclose(to_numpy(found.x), expected, atol=1e-4 if library == "jax" else 1e-7)
    many = nonstick.solve(given, to_library(np.stack([b, 2 * b], 1), library, None, dtype), -0.2, 0.3, cells=cells)
    assert many.x.shape == (b.size, 2) and list(many.converged) == [True, True]


def test_a_scene_on_arrays(tmp_path):
    """The motion is that of the compiled path, and every solve converges."""
    small = {"domain.resolution": 16, "time.frames": 2}
    runs = {}
    for name, more in (("compiled", {}), ("arrays", {"solver.array": "numpy"})):
        simulation = nonstick.Simulation(nonstick.Scene.load("circle", small | more))
        rows = [row for _ in range(2) for row in simulation.next_frame()]
        runs[name] = simulation.frame_arrays()["position"], rows
    (a, _), (b, rows) = runs["compiled"], runs["arrays"]
    assert np.abs(a - b).max() < 1e-3 / 16
    assert all(row["kkt"] <= 1e-6 and row["iterations"] > 0 for row in rows)


@pytest.mark.parametrize(
    "keys, words",
    [
        ({"solver.device": "cuda:0"}, "solver.device belongs to an array library"),
        ({"solver.array": "numpy", "solver.device": "cuda:0"}, "numpy has no device 'cuda:0' here"),
        ({"solver.array": "numpy", "solver.method": "pi-mg"}, "method 'pi-mg' does not compute with arrays"),
        ({"solver.array": "cupy"}, "cupy is not installed"),
    ],
)
def test_scenes_that_cannot_be(keys, words):
    with pytest.raises(NonstickError, match=words) as caught:
        nonstick.Simulation(nonstick.Scene.load("circle", {"domain.resolution": 16} | keys))
    assert "\n" not in str(caught.value)


def test_the_command(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    box = cases.build("circle2d", 12).problem
    nonstick.save_problem("p.npz", box)
    done = CliRunner().invoke(app, ["solve", "p.npz", "--array", "numpy", "--json", "row.json"])
    assert done.exit_code == 0, done.output
    row = json.loads((tmp_path / "row.json").read_text(encoding="utf-8"))
    assert row["converged"] and "in arrays of numpy" in row["path"]
    done = CliRunner().invoke(app, ["solve", "p.npz", "--device", "cuda:0"])
    assert done.exit_code != 0
