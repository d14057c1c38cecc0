"""Run directories that were damaged."""

import numpy as np
import pytest

from nonstick import NonstickError
from nonstick.files.pieces import name_of
from nonstick.files.rundir import RunDirectory, save


@pytest.mark.parametrize("content", [b"", b"PK", b"no archive", b"half"])
def test_a_damaged_frame_is_named(tmp_path, content):
    run = RunDirectory.create(tmp_path / "run", "", {})
    run.write_frame(1, {"position": np.zeros((2, 9))})
    file = run.frames_path / "000001.npz"
    file.write_bytes(file.read_bytes()[:100] if content == b"half" else content)
    with pytest.raises(NonstickError, match=r"000001\.npz is damaged"):
        run.read_frame(1)


def test_a_table_of_an_older_version_gets_the_new_columns(tmp_path):
    run = RunDirectory.create(tmp_path / "run", "", {})
    (run.path / "stats.csv").write_text("step,frame,gone\n1,1,7\n2,2,8\n")
    run.append_rows([{"step": 3, "frame": 3, "new": 0.5}], ("step", "frame", "new"))
    assert run.rows() == [
        {"step": "1", "frame": "1", "gone": "7", "new": ""},
        {"step": "2", "frame": "2", "gone": "8", "new": ""},
        {"step": "3", "frame": "3", "gone": "", "new": "0.5"},
    ]
    run.cut_rows(2)
    run.append_rows([{"step": 3, "frame": 3, "new": 1.5}], ("step", "frame", "new"))
    assert [r["new"] for r in run.rows()] == ["", "", "1.5"]


def test_a_frame_can_be_read_in_part(tmp_path):
    run = RunDirectory.create(tmp_path / "run", "", {})
    phi, x = np.arange(24.0).reshape(4, 3, 2), np.ones((5, 3))
    run.write_frame(3, {"phi": phi, "position": x, "id": np.arange(5)})
    assert set(run.read_frame(3)) == {"phi", "position", "id"}
    part = run.read_frame(3, ("phi", "pressure"))
    assert set(part) == {"phi"}
    np.testing.assert_array_equal(part["phi"], phi)
    # the same of a frame in pieces, whose arrays have other names there
    for rank, half in enumerate((slice(0, 2), slice(2, 4))):
        save(name_of(run.frame_file(4), rank), {"cells.phi": phi[half], "rows.position": x})
    save(run.frame_file(4), {"pieces": np.array([[[0, 0, 0], [2, 3, 2]], [[2, 0, 0], [4, 3, 2]]])})
    np.testing.assert_array_equal(run.read_frame(4, ("phi",))["phi"], phi)
