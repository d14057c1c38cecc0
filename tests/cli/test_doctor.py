"""`nonstick doctor` reports what is there and what is missing."""

import json
import tomllib
from pathlib import Path

import numpy as np

from nonstick.cli import listing as module
from nonstick.core.optional import EXTRAS, install


def test_it_reports_what_is_there(run, monkeypatch, tmp_path):
    monkeypatch.setattr("numba.config.CACHE_DIR", str(tmp_path))
    (tmp_path / "some.nbc").write_bytes(bytes(2**21))
    code, out, err = run("doctor", "--json")
    found = json.loads(out)
    assert code == 0 and found["packages"]["numpy"] == np.__version__
    assert found["cores"] >= 1 and found["bandwidth"] > 0
    assert (found["kernels"], found["kernels_bytes"]) == (1, 2**21) and found["kernels_folder"] == str(tmp_path)
    code, out, err = run("doctor")
    assert code == 0 and "1 files, 2 MB" in out and "GB/s" in out


def test_a_missing_package_comes_with_the_way_to_get_it(run, monkeypatch):
    there = module.find_spec
    monkeypatch.setattr(module, "find_spec", lambda name: None if name == "trimesh" else there(name))
    code, out, err = run("doctor")
    assert f"trimesh missing, get it with: {install('mesh')}" in out


def test_every_extra_for_users_is_known():
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert set(project["optional-dependencies"]) - {"docs", "dev"} == set(EXTRAS)


def test_bandwidth_counts_what_is_read_and_written(monkeypatch):
    clock = iter([0.0, 2.0, 10.0, 11.0])
    monkeypatch.setattr(module.time, "perf_counter", lambda: next(clock))
    assert module.bandwidth(1, block=800, rounds=2) == 1600.0
