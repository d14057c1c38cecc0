"""Compiled kernels are kept under the hash of their source and of what they import."""

from pathlib import Path

import pytest

from nonstick.kernels import _blocks, _cache, _redblack, _stencil


@pytest.fixture
def copies(tmp_path, monkeypatch):
    """Two kernel files of which the first imports from the second."""
    monkeypatch.setattr(_cache, "HERE", tmp_path)
    (tmp_path / "__init__.py").write_text("")
    (tmp_path / "_a.py").write_text("from ._b import g\n")
    (tmp_path / "_b.py").write_text("g = 1\n")
    _cache.source_stamp.cache_clear()
    yield tmp_path
    _cache.source_stamp.cache_clear()


def test_an_edit_to_an_imported_file_changes_the_key(copies):
    before = [_cache.source_stamp(copies / name) for name in ("_a.py", "_b.py")]
    (copies / "_b.py").write_text("g = 2\n")
    _cache.source_stamp.cache_clear()
    after = [_cache.source_stamp(copies / name) for name in ("_a.py", "_b.py")]
    assert before[0] != after[0] and before[1] != after[1]


def test_time_stamps_do_not_matter(copies):
    before = _cache.source_stamp(copies / "_a.py")
    (copies / "_a.py").touch()
    _cache.source_stamp.cache_clear()
    assert _cache.source_stamp(copies / "_a.py") == before


def test_only_a_few_versions_are_kept(tmp_path):
    for k in range(_cache.KEPT + 3):
        (tmp_path / f"_a-{k}").mkdir()
    (tmp_path / "_a_b-0").mkdir()
    _cache._prune(tmp_path / "_a-0")
    assert len(list(tmp_path.glob("_a-*"))) == _cache.KEPT and (tmp_path / "_a_b-0").exists()


def test_kernels_use_it_and_strangers_do_not(monkeypatch):
    monkeypatch.setattr(_cache.config, "CACHE_DIR", "")
    here = _cache.SourceHashLocator.from_function(_stencil._stencil_apply.py_func, _stencil.__file__)
    assert here is not None and Path(here.get_cache_path()).name.startswith("_stencil-")
    assert _cache.SourceHashLocator.from_function(len.__class__, __file__) is None
    assert _cache.source_stamp(Path(_redblack.__file__)) != _cache.source_stamp(Path(_blocks.__file__))
