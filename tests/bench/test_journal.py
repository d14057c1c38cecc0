"""Measurements on disk: found again, cut off by a kill, made with other settings."""

import numpy as np
import pytest

from nonstick.bench.row import Journal, checksum
from nonstick.errors import NonstickError


def test_without_a_path_nothing_is_kept():
    journal = Journal()
    journal.keep(1, "a")
    assert journal.get("a") is None and len(journal) == 0


def test_what_was_kept_is_found_again(tmp_path):
    path = tmp_path / "rows.solves.jsonl"
    first = Journal(path, {"rtol": 1e-6})
    first.keep({"x": [1.5, None]}, "case", 8, "größe")
    first.keep(float("inf"), "case", 9, "")
    second = Journal(path, {"rtol": 1e-6}, resume=True)
    assert len(second) == 2 and second.get("case", 8, "größe") == {"x": [1.5, None]}
    assert second.get("case", 9, "") == float("inf") and second.get("case", 10, "") is None
    assert len(Journal(path, {"rtol": 1e-6})) == 0  # started again
    assert len(Journal(path, {"rtol": 1e-6}, resume=True)) == 0


def test_a_line_cut_off_by_a_kill_is_dropped(tmp_path):
    path = tmp_path / "rows.solves.jsonl"
    journal = Journal(path)
    journal.keep(1, "a")
    journal.keep(2, "b")
    path.write_bytes(path.read_bytes()[:-4])
    again = Journal(path, resume=True)
    assert again.get("a") == 1 and again.get("b") is None
    again.keep(3, "c")
    last = Journal(path, resume=True)
    assert (last.get("a"), last.get("b"), last.get("c")) == (1, None, 3)


def test_other_settings_are_refused(tmp_path):
    path = tmp_path / "rows.solves.jsonl"
    Journal(path, {"rtol": 1e-6})
    with pytest.raises(NonstickError, match="other settings: remove --resume"):
        Journal(path, {"rtol": 1e-8}, resume=True)


def test_checksums_tell_problems_apart():
    b = np.arange(4.0)
    assert checksum(b, None) == checksum(b.copy(), None) != checksum(b + 1e-16 * np.array([1.0, 0, 0, 0]), None)
    assert checksum(b, np.zeros(2)) != checksum(b, None)
    assert checksum(np.arange(8.0)[::2]) == checksum(np.arange(0, 8, 2.0))
