"""Compiled kernels are kept under the hash of their source and of what they import."""

import subprocess
import sys
from pathlib import Path

import pytest

from nonstick.inverse.multigrid.grid import _redblack
from nonstick.kernels import _blocks, _cache, _stencil

FILES = ("grid/_a.py", "kernels/_b.py")


@pytest.fixture
def copies(tmp_path, monkeypatch):
    """Two kernel files in different packages, of which the first imports from the second."""
    monkeypatch.setattr(_cache, "PACKAGE", tmp_path)
    (tmp_path / "kernels").mkdir()
    (tmp_path / "grid").mkdir()
    (tmp_path / "grid" / "_a.py").write_text("from ..kernels._b import (\n    g,\n)\n")
    (tmp_path / "kernels" / "_b.py").write_text("g = 1\n")
    _cache.source_stamp.cache_clear()
    yield tmp_path
    _cache.source_stamp.cache_clear()


def test_an_edit_to_an_imported_file_changes_the_key(copies):
    before = [_cache.source_stamp(copies / name) for name in FILES]
    (copies / FILES[1]).write_text("g = 2\n")
    _cache.source_stamp.cache_clear()
    after = [_cache.source_stamp(copies / name) for name in FILES]
    assert before[0] != after[0] and before[1] != after[1]


def test_time_stamps_do_not_matter(copies):
    before = _cache.source_stamp(copies / FILES[0])
    (copies / FILES[0]).touch()
    _cache.source_stamp.cache_clear()
    assert _cache.source_stamp(copies / FILES[0]) == before


def test_environments_with_other_versions_of_numba_keep_kernels_of_their_own(copies, monkeypatch):
    before = _cache.source_stamp(copies / FILES[0])
    monkeypatch.setattr(_cache.numba, "__version__", "0.0")
    _cache.source_stamp.cache_clear()
    assert _cache.source_stamp(copies / FILES[0]) != before


def test_only_a_few_versions_are_kept(tmp_path):
    for k in range(_cache.KEPT + 3):
        (tmp_path / f"_a-{k}").mkdir()
    (tmp_path / "_a_b-0").mkdir()
    _cache._prune(tmp_path / "_a-0")
    assert len(list(tmp_path.glob("_a-*"))) == _cache.KEPT and (tmp_path / "_a_b-0").exists()


def test_kernels_use_it_and_strangers_do_not(monkeypatch):
    monkeypatch.setattr(_cache.config, "CACHE_DIR", "")
    here = _cache.SourceHashLocator.from_function(_stencil._stencil_apply.py_func, _stencil.__file__)
    assert here is not None and Path(here.get_cache_path()).name.startswith("kernels._stencil-")
    assert _cache.SourceHashLocator.from_function(len.__class__, __file__) is None
    assert _cache.source_stamp(Path(_redblack.__file__)) != _cache.source_stamp(Path(_blocks.__file__))


def test_a_kernel_that_is_kept_needs_no_compiler():
    call = "import numpy as np\nfrom nonstick.kernels._components import _flatten\n"
    call += "_flatten(np.arange(3, dtype=np.int64))\n"
    exec(call, {})  # compiled, or in the cache since an earlier run
    ask = call + "import sys\nprint('numba.np.linalg' in sys.modules, 'numba' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True"]
