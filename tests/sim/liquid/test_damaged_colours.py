"""Frames whose notes on the sources of particles are damaged: painting says so in one sentence."""

import numpy as np
import pytest

from nonstick import NonstickError, Scene
from nonstick.sim.run.loop import run
from nonstick.sim.run.preview import render


@pytest.mark.parametrize("key, value", [("sources", np.zeros((3, 1), np.int64)), ("sources", np.zeros((3, 2))),
                                        ("id", np.zeros(2, np.uint32))])  # fmt: skip
def test_damaged_sources_are_one_sentence(tmp_path, key, value):
    half = {"type": "box", "low": [0.0, 0.0], "high": [0.5, 0.5]}
    other = {"type": "box", "low": [0.5, 0.0], "high": [1.0, 0.5]}
    scene = Scene(
        {
            "domain": {"size": [1.0, 1.0], "resolution": 8},
            "time": {"frames": 1},
            "liquid": [{"shape": half, "colour": "red"}, {"shape": other, "colour": "blue"}],
        }
    )
    done = run(scene, tmp_path / "run")
    file = done.frames_path / "000001.npz"
    with np.load(file) as found:
        arrays = dict(found)
    np.savez(file, **(arrays | {key: value}))
    with pytest.raises(NonstickError, match=f"000001.npz is damaged, {key}"):
        render(done.path)
