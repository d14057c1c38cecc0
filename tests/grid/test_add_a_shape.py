"""How to add a shape: one class, through public names only. It answers all questions and stands in scene files."""

import subprocess
import sys
from dataclasses import dataclass

import numpy as np
import pytest

from nonstick import NonstickError, RigidBody, Scene, Simulation
from nonstick.grid import Box, Positive, Shape, Vector, shape_kinds
from nonstick.grid.shapes import base
from nonstick.scenes import build, json_schema


@dataclass(frozen=True)
class Diamond(Shape):
    """All points whose coordinates differ from those of `centre` by at most `size` in sum."""

    kind = "test-diamond"
    centre: Vector
    size: Positive

    def distance(self, *x):
        return (sum(abs(a - c) for a, c in zip(x, self.centre)) - self.size) / len(x) ** 0.5

    def bounds(self, dimension):
        return np.array(self.centre) - self.size, np.array(self.centre) + self.size


@pytest.fixture(autouse=True)
def forget():
    """Shapes that a test defines are not known to the next one."""
    known = dict(base._KINDS)
    yield
    base._KINDS.clear()
    base._KINDS.update(known)


TABLE = {"type": "test-diamond", "centre": [0.5, 0.6], "size": 0.2}
POOL = {"shape": {"type": "box", "low": [0.0, 0.0], "high": [1.0, 0.3]}}


def scene(**tables):
    return Scene({"domain": {"size": [1.0, 1.0], "resolution": 16}, "liquid": [POOL], **tables})


def test_it_answers_every_question():
    diamond = Diamond((0.5, 0.6), 0.2)
    assert shape_kinds()["test-diamond"] is Diamond and diamond.dimension == 2
    assert diamond(0.5, 0.9) == pytest.approx(0.1 / np.sqrt(2))
    moments = diamond.moments(2)
    assert moments.volume == pytest.approx(0.08, rel=2e-3) and np.allclose(moments.centre, [0.5, 0.6], atol=1e-4)
    probes = diamond.probes(2)
    assert probes.n > 20 and np.abs(diamond(*probes.x)).max() < 1e-3
    assert ((probes.x - np.array([[0.5], [0.6]])) * probes.normal).sum(axis=0).min() > 0, "normals point outwards"


def test_it_turns_moves_and_combines():
    turned = Diamond((0.0, 0.0), 0.2).rotate(np.pi / 4, centre=(0.0, 0.0)).move((0.5, 0.5))
    side = 0.2 / np.sqrt(2)
    twin = Box((0.5 - side, 0.5 - side), (0.5 + side, 0.5 + side))
    x = np.random.default_rng(0).uniform(0.0, 1.0, (2, 500))
    assert np.array_equal(turned(*x) < 0, twin(*x) < 0)
    assert turned.moments(2).volume == pytest.approx(twin.moments(2).volume, rel=2e-3)
    assert (turned - twin).bounds(2)[0].shape == (2,)
    with pytest.raises(NonstickError, match="2 coordinates"):
        turned(0.0, 0.0, 0.0)


def test_it_stands_in_a_scene_as_liquid_solid_and_body():
    everywhere = scene(
        liquid=[POOL, {"shape": {**TABLE, "rotate": 30.0}}],
        solid=[{"shape": {**TABLE, "centre": [0.2, 0.15], "size": 0.1}}],
        bodies=[{"shape": {**TABLE, "centre": [0.8, 0.8], "size": 0.15}, "density": 500.0}],
    )
    assert Scene.from_text(everywhere.to_toml()).to_dict() == everywhere.to_dict()
    shape = build(everywhere.model.liquid[1].shape)
    assert shape.moments(2).volume == pytest.approx(0.08, rel=3e-3)
    simulation = Simulation(everywhere)
    rows = simulation.next_frame()
    assert simulation.frame == 1 and rows[-1]["converged"] == 1
    assert isinstance(simulation.bodies[0], RigidBody) and simulation.bodies[0].velocity[1] < 0.0


@pytest.mark.parametrize(
    "change, words",
    [
        ({"size": -1.0}, r"liquid\.0\.shape\.size: should be above 0"),
        ({"size": "large"}, r"liquid\.0\.shape\.size"),
        ({"sise": 1.0}, r"unknown key 'liquid\.0\.shape\.sise', did you mean 'size'"),
        ({"centre": [0.1, 0.2, 0.3]}, r"liquid\.0\.shape\.centre has 3 coordinates"),
        ({"type": "test-dimond"}, r"liquid\.0\.shape.*did you mean 'test-diamond'"),
    ],
)
def test_mistakes_in_its_table_name_the_key(change, words):
    with pytest.raises(NonstickError, match=words):
        scene(liquid=[{"shape": {**TABLE, **change}}])


def test_it_is_in_the_published_schema():
    schema = json_schema()
    assert {"$ref": "#/$defs/Diamond"} in schema["$defs"]["Shape"]["oneOf"]
    assert schema["$defs"]["Diamond"]["properties"]["size"]["exclusiveMinimum"] == 0


def test_two_shapes_of_one_kind_and_keys_that_are_taken():
    with pytest.raises(NonstickError, match="both have the kind 'ball'"):

        class Other(Shape):
            kind = "ball"

    @dataclass(frozen=True)
    class Turned(Shape):
        kind = "test-turned"
        axis: float

        def distance(self, *x):
            return x[0]

    with pytest.raises(NonstickError, match="argument 'axis'"):
        scene(liquid=[{"shape": {"type": "test-turned", "axis": 1.0}}])


def test_a_shape_without_bounds_is_liquid_but_not_a_body():
    @dataclass(frozen=True)
    class Wave(Shape):
        kind = "test-wave"
        height: float

        def distance(self, *x):
            return x[1] - self.height - 0.05 * np.sin(6.0 * x[0])

    table = {"shape": {"type": "test-wave", "height": 0.4}}
    Simulation(scene(liquid=[table])).next_frame()
    with pytest.raises(NonstickError, match="needs a bounded shape"):
        Simulation(scene(bodies=[{**table, "density": 500.0}]))


PLUGIN = """
from dataclasses import dataclass
from nonstick.grid import Shape, Vector

@dataclass(frozen=True)
class Corner(Shape):
    kind = "corner"
    point: Vector

    def distance(self, *x):
        return x[0] - self.point[0]
"""


def test_a_file_of_ones_own_holds_it_for_the_command_line(tmp_path):
    (tmp_path / "my_shapes.py").write_text(PLUGIN)
    (tmp_path / "corner.toml").write_text(
        "[domain]\nsize = [1.0, 1.0]\nresolution = 12\n[time]\nframes = 1\n"
        "[[liquid]]\nshape = {type = 'corner', point = [0.5, 0.5]}\n"
    )
    command = [sys.executable, "-m", "nonstick", "--plugin", "my_shapes.py", "run", "corner.toml", "--no-movie"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0 and "1 frame\n" in done.stdout, done.stderr
    assert (tmp_path / "runs" / "scene" / "frames" / "000001.npz").is_file()
