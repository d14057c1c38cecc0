"""The shot of the examples: its character is a closed mesh, and its scene passes all checks."""

import sys
from pathlib import Path

import pytest

from nonstick import Scene

SHOT = Path(__file__).parents[3] / "examples" / "shot"


@pytest.fixture
def character(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(SHOT))
    sys.modules.pop("character", None)
    import character

    return tmp_path, character.main(tmp_path / "character.obj", n=40)


def test_the_character_is_closed(character):
    _, mesh = character
    assert mesh.open_edges() == 0 and mesh.volume() > 1e-3
    assert mesh.vertices[:, 1].min() == 0.0


def test_the_scene_passes(character):
    scene = Scene(Scene.load(SHOT / "shot.toml").to_dict(), folder=character[0])
    assert scene.dimension == 3 and scene.model.bodies[0].name == "ball"
