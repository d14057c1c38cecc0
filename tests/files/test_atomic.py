"""A file is there whole, or as it was before."""

import os
import subprocess
import sys

import pytest

from nonstick import NonstickError
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


@pytest.mark.skipif(sys.platform == "win32", reason="pipes of POSIX")
def test_a_pipe_or_device_is_not_replaced(tmp_path):
    """As root the rename would succeed, and /dev/null would be a file."""
    pipe, link = tmp_path / "pipe", tmp_path / "link"
    os.mkfifo(pipe)
    link.symlink_to("/dev/null")
    for path in (pipe, link):
        with pytest.raises(NonstickError, match="a pipe, a socket or a device"):
            write_text(path, "x")
    assert pipe.is_fifo() and link.is_symlink() and sorted(tmp_path.iterdir()) == [link, pipe]
