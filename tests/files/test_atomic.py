"""A file is there whole, or as it was before."""

import pytest

from nonstick.files.atomic import replacing, write_text


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
