"""Run directories that were damaged."""

import numpy as np
import pytest

from nonstick import NonstickError
from nonstick.io.rundir import RunDirectory


@pytest.mark.parametrize("content", [b"", b"PK", b"no archive", b"half"])
def test_a_damaged_frame_is_named(tmp_path, content):
    run = RunDirectory.create(tmp_path / "run", "", {})
    run.write_frame(1, {"position": np.zeros((2, 9))})
    file = run.frames_path / "000001.npz"
    file.write_bytes(file.read_bytes()[:100] if content == b"half" else content)
    with pytest.raises(NonstickError, match=r"000001\.npz is damaged"):
        run.read_frame(1)
