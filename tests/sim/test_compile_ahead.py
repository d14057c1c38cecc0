"""The process that compiles ahead: what it does runs, and it starts only where something is left to compile."""

import subprocess
from pathlib import Path

import pytest

from nonstick.kernels import _cache, _vector
from nonstick.sim.run import compile_ahead as ahead


@pytest.mark.parametrize("dimension", [2, 3])
def test_what_it_compiles_runs(dimension):
    ahead.compile_painter(dimension)
    if dimension == 3:
        solution = ahead.compile_solver()
        assert solution.converged and solution.outer_iterations > 0


@pytest.mark.parametrize("compiled", [False, True])
def test_it_starts_where_kernels_are_missing_and_ends_with_the_run(monkeypatch, compiled):
    started = []

    class Helper:
        def __init__(self, command, **_):
            started.append(command)
            self.alive = True

        def kill(self):
            self.alive = False

        def wait(self):
            assert not self.alive
            started.append("ended")

    monkeypatch.setattr(subprocess, "Popen", Helper)
    monkeypatch.setattr(ahead.os, "cpu_count", lambda: 2)
    monkeypatch.setattr(_cache, "compiled", lambda path: compiled)
    with ahead.compiling_ahead(3):
        pass
    assert len(started) == (0 if compiled else 2)


def test_the_cache_knows_what_is_compiled(monkeypatch, tmp_path):
    monkeypatch.setattr(_cache.config, "CACHE_DIR", "")
    monkeypatch.setattr(_cache, "cache_folder", lambda: tmp_path)
    path = Path(_vector.__file__)
    assert not _cache.compiled(path)
    folder = tmp_path / f"kernels._vector-{_cache.source_stamp(path)}"
    folder.mkdir()
    assert not _cache.compiled(path)
    (folder / "x.nbc").touch()
    assert _cache.compiled(path)
