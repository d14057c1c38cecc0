"""Andersen's figures on the devices that are here, the table for people with a GPU, and the examples."""

import importlib
import os

import pytest

import nonstick.bench
from nonstick.bench import peers


def test_figures_9_and_10(monkeypatch):
    monkeypatch.setattr(peers, "here", lambda: [("numpy", None), ("strict", None)])
    rows = list(peers.figure9(nonstick.bench.get("andersen-figure9").plan((12,))))
    assert [row.method for row in rows] == [f"{m} {l} cpu" for m in ("newton", "pcg") for l in ("numpy", "strict")]
    assert all(row.converged and row.extra["speed-up"] > 0 for row in rows)
    rows = list(peers.figure10(nonstick.bench.get("andersen-figure10").plan((12,))))
    assert len(rows) == 2 and all(0 < row.extra["set-up %"] < 100 for row in rows)


@pytest.fixture
def torch_here():
    if not os.environ.get("NONSTICK_ARRAYS"):  # make test-arrays sets it: then PyTorch must be there
        pytest.importorskip("torch", reason="PyTorch's CPU build is not on the package index: make test-arrays")


def test_the_table_for_a_gpu(torch_here, capsys):
    rows = importlib.import_module("gpu").main((12,), "circle2d", ("numpy", "cupy"))
    said = capsys.readouterr().out
    assert len(rows) == 3 and all(row[-1] for row in rows) and "cupy is not installed" in said
    assert "launches" in said and "million cells/s" in said


@pytest.mark.parametrize(
    "name, words, part",
    [
        ("learn_obstacle", {"n": 10, "steps": 12}, 0.5),
        ("find_velocity", {"n": 8, "frames": 2, "steps": 8}, 0.6),
        ("train_network", {"n": 8, "steps": 20, "batch": 6}, 0.6),
    ],
)
def test_examples_converge(torch_here, name, words, part, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend("examples")
    first, last = importlib.import_module(name).main(**words, picture=str(tmp_path / "a.png"))
    assert last < part * first and (tmp_path / "a.png").stat().st_size > 1000
