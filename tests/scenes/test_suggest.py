"""A wrong key or type is answered with the word that was meant."""

import pytest

from nonstick import NonstickError, Scene

BALL = {"type": "ball", "centre": [0.5, 0.5], "radius": 0.2}
BASE = {"domain": {"size": [1.0, 1.0], "resolution": 16}}


def without(table, key, **more):
    return {k: v for k, v in table.items() if k != key} | more


@pytest.mark.parametrize(
    "given, meant",
    [("sphere", "ball"), ("circle", "ball"), ("cube", "box"), ("Box", "box"), ("plane", "halfspace"),
     ("tube", "cylinder"), ("subtract", "difference"), ("merge", "union"), ("donut", "torus"), ("obj", "mesh"),
     ("bal", "ball")],
)  # fmt: skip
def test_types_of_shapes(given, meant):
    with pytest.raises(NonstickError, match=f"there is no shape of type '{given}', did you mean '{meant}'"):
        Scene({**BASE, "liquid": [{"shape": BALL | {"type": given}}]})


@pytest.mark.parametrize(
    "shape, given, meant",
    [
        (without(BALL, "centre", center=[0.5, 0.5]), "center", "centre"),
        (without(BALL, "centre", location=[0.5, 0.5]), "location", "centre"),
        (without(BALL, "radius", r=0.5), "r", "radius"),
        (BALL | {"translate": [1.0, 0.0]}, "translate", "move"),
        (BALL | {"rotation": 20.0}, "rotation", "rotate"),
        ({"type": "box", "min": [0.0, 0.0], "max": [1.0, 1.0]}, "min", "low"),
        ({"type": "union", "of": [without(BALL, "centre", center=[0.5, 0.5])]}, "of.0.center", "centre"),
    ],
)
def test_keys_of_shapes(shape, given, meant):
    with pytest.raises(NonstickError, match=rf"unknown key 'liquid\.0\.shape\.{given}', did you mean '{meant}'"):
        Scene({**BASE, "liquid": [{"shape": shape}]})


@pytest.mark.parametrize(
    "data, given, meant",
    [
        ({"obstacle": []}, "obstacle", "solid"),
        ({"fluid": []}, "fluid", "liquid"),
        ({"emitter": []}, "emitter", "inflow"),
        ({"time": {"frame_end": 3}}, r"time\.frame_end", "frames"),
        ({"physics": {"rho": 3.0}}, r"physics\.rho", "density"),
        ({"camera": {"color": "speed"}}, r"camera\.color", "colour"),
        ({"domain": {"size": [1.0, 1.0], "divisions": 3}}, r"domain\.divisions", "resolution"),
    ],
)
def test_keys_of_tables(data, given, meant):
    with pytest.raises(NonstickError, match=f"unknown key '{given}', did you mean '{meant}'"):
        Scene({**BASE, **data})


@pytest.mark.parametrize(
    "given, meant",
    [("resolution", "'domain.resolution'"), ("Frames", "'time.frames'"), ("fps", "'camera.fps' or 'time.fps'"),
     ("gravity", "'physics.gravity'"), ("friction", "'bodies.0.friction'")],
)  # fmt: skip
def test_a_key_without_its_table_is_given_it(given, meant):
    with pytest.raises(NonstickError, match=f"unknown key '{given}', did you mean {meant}"):
        Scene({**BASE, given: 4})
