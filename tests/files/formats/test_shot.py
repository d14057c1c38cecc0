"""The shot of the examples: its character is a closed mesh, and its scene passes all checks."""

import sys
from pathlib import Path

import pytest

from nonstick import Scene
from nonstick.files.formats.mesh import read_obj

SHOT = Path(__file__).parents[3] / "examples" / "shot"


@pytest.fixture
def character(tmp_path, monkeypatch):
    pytest.importorskip("skimage", reason="scikit-image is not installed")
    monkeypatch.syspath_prepend(str(SHOT))
    sys.modules.pop("character", None)
    import character

    character.main(tmp_path / "character.obj", n=40)
    return tmp_path / "character.obj"


def test_the_character_is_closed(character):
    mesh = read_obj(character)
    assert mesh.open_edges() == 0 and mesh.volume() > 1e-3
    assert mesh.vertices[:, 1].min() == 0.0


def test_the_scene_passes(character):
    scene = Scene(Scene.load(SHOT / "shot.toml").to_dict(), folder=character.parent)
    assert scene.dimension == 3 and scene.model.bodies[0].name == "ball"
