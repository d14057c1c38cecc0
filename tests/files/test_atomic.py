"""A file is there whole, or as it was before."""

import os
import subprocess
import sys

import pytest

from nonstick.files.atomic import remove_partial, replacing, write_text


def test_success_replaces(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")
    write_text(path, "new")
    assert path.read_text() == "new" and list(tmp_path.iterdir()) == [path]


def test_failure_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")
    with pytest.raises(RuntimeError), replacing(path) as partial:
        partial.write_text("half")
        raise RuntimeError
    assert path.read_text() == "old" and list(tmp_path.iterdir()) == [path]


def test_what_a_killed_process_left_is_deleted_and_no_more(tmp_path):
    child = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, text=True)
    dead, alive = f".a.ply.{int(child.stdout)}.partial.ply", f".a.ply.{os.getpid()}.partial.ply"
    for name in (dead, alive, "a.ply", ".mine.partial"):
        (tmp_path / name).write_text("x")
    remove_partial(tmp_path)
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted([alive, "a.ply", ".mine.partial"])
