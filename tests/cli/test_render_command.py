"""`nonstick render`: stills, sequences, GIF, camera and light from the command line; two liquids of two colours."""

import numpy as np
import pytest

from nonstick import NonstickError, Scene
from nonstick.cli import main
from nonstick.scenes.tables import Camera, rgb
from nonstick.sim.liquid.preview import viewpoint
from nonstick.sim.run.loop import run

image_of = pytest.importorskip("PIL.Image")


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    tall = {"type": "box", "low": [0.0, 0.0, 0.0], "high": [0.5, 0.6, 1.0]}
    other = {"type": "box", "low": [0.5, 0.0, 0.0], "high": [1.0, 0.6, 1.0]}
    camera = {"width": 96, "height": 80, "azimuth": 0.0, "elevation": 20.0}
    space = {
        "name": "two", "domain": {"size": [1.0, 1.0, 1.0], "resolution": 12}, "time": {"frames": 2}, "camera": camera,
        "liquid": [{"shape": tall, "colour": "honey"}, {"shape": other, "colour": "#2f7fc4"}],
    }  # fmt: skip
    run(Scene(space), folder / "space")
    flat = space | {"domain": {"size": [1.0, 1.0], "resolution": 16}, "camera": {"width": 96, "height": 96}}
    flat["liquid"] = [
        {**liquid, "shape": {"type": "box", "low": low, "high": high}}
        for liquid, low, high in zip(space["liquid"], ([0.0, 0.0], [0.5, 0.0]), ([0.5, 0.6], [1.0, 0.6]))
    ]
    run(Scene(flat), folder / "flat")
    return folder


def command(*words):
    with pytest.raises(SystemExit) as leave:
        main(["render", *map(str, words)])
    return leave.value.code


def pixels(path):
    return np.asarray(image_of.open(path).convert("RGB")).astype(int)


@pytest.mark.parametrize("kind", ["space", "flat"])
def test_a_still_shows_both_colours(runs, tmp_path, kind):
    out = tmp_path / "still.png"
    assert command(runs / kind, "--out", out, "--frame", 1, "--no-labels") == 0
    image = pixels(out)
    amber = image[..., 0] - image[..., 2] > 60
    blue = image[..., 2] - image[..., 0] > 60
    assert amber.mean() > 0.1 and blue.mean() > 0.1
    assert np.argwhere(amber)[:, 1].mean() < np.argwhere(blue)[:, 1].mean() - 15


def test_a_sequence_a_gif_and_a_turn(runs, tmp_path, capsys):
    assert command(runs / "space", "--out", tmp_path / "seq", "--size", "64x64", "--frames", "0:2") == 0
    assert sorted(f.name for f in (tmp_path / "seq").iterdir()) == ["0000.png", "0001.png"]
    assert command(runs / "space", "-o", tmp_path / "a.gif", "--size", "64x64") == 0
    with image_of.open(tmp_path / "a.gif") as gif:
        assert gif.n_frames == 3 and gif.size == (64, 64)
    turn = tmp_path / "turn"
    assert command(runs / "space", "-o", turn, "--size", "64x64", "--frame", 0, "--turntable", 20, "--no-labels") == 0
    images = [pixels(f) for f in sorted(turn.iterdir())]
    assert len(images) == 4 and np.abs(images[0] - images[3]).max() > 40
    assert "4 files" in capsys.readouterr().out


def test_background_and_labels(runs, tmp_path):
    out = tmp_path / "x.png"
    assert command(runs / "space", "-o", out, "-f", 0, "--background", "black", "--no-labels", "--lens", 40) == 0
    assert pixels(out)[1, 1].max() < 40
    assert command(runs / "space", "-o", out, "-f", 0, "--background", "black") == 0
    assert pixels(out)[:20, :40].max() > 150
    assert command(runs / "flat", "-o", out, "-f", 0, "--background", "#ff0000", "--no-labels") == 0
    assert (pixels(out)[5, 40:60] == [255, 0, 0]).all()


def test_all_liquid_in_the_colour_of_a_name(runs, tmp_path):
    out, shades = tmp_path / "x.png", []
    for tint in ("honey", "#00ff00", "[0.0,0.0,1.0]"):
        assert command(runs / "space", "-o", out, "-f", 0, "--no-labels", "-s", f"tint={tint}", "-s", "clear=0.01") == 0
        shades.append(pixels(out).astype(int).reshape(-1, 3))
    more = [shade[:, k] - shade[:, (k + 1) % 3] for shade, k in zip(shades, (0, 1, 2))]
    assert all(colour.max() > 60 for colour in more)


@pytest.mark.parametrize(
    "words, sentence",
    [
        (["space", "-s", "tint=honye"], "'honye' is not a colour"),
        (["space", "-o", "x.jpg"], "must end in .mp4, .gif or .png"),
        (["space", "-f", "1", "-n", "0:2"], "use one of them"),
        (["space", "-f", "9"], "the run has no frame 9: it has the frames 0 to 2"),
        (["space", "-n", "7:9"], "the run has the frames 0 to 2"),
        (["space", "--size", "big"], "for example 640x480"),
        (["space", "--size", "80x60"], "--size 80x60: a side must have 64 to 8192 pixels"),
        (["space", "--background", "blau"], "is not a colour"),
        (["space", "--light", "0", "0", "0"], "points nowhere"),
        (["flat", "--turntable", "90"], "is a 2D run, which has no turntable"),
    ],
)
def test_mistakes_are_one_sentence(runs, capsys, words, sentence):
    assert command(runs / words[0], *words[1:]) == 2
    said = capsys.readouterr().err
    assert sentence in " ".join(said.split()) and "Traceback" not in said


def test_key_frames_of_the_camera():
    keys = {
        "times": [1.0, 2.0, 3.0],
        "azimuth": [0.0, 90.0, 0.0],
        "target": [[0.0, 0.0, 0.0], [1.0, 2.0, 3.0], [0.0, 0.0, 0.0]],
    }
    for smooth in (True, False):
        camera = Camera(keys={**keys, "smooth": smooth})
        assert viewpoint(camera, 0.5, 0.0, 0.0).azimuth == 0.0
        now = viewpoint(camera, 0.5, 2.0, 0.0)
        assert now.azimuth == pytest.approx(90.0) and now.target == pytest.approx((2.0, 4.0, 6.0))
        assert 20.0 < viewpoint(camera, 0.5, 1.4, 0.0).azimuth < 60.0
    assert viewpoint(Camera(turntable=-90.0), 1.0, 0.0, 0.5).azimuth == pytest.approx(-15.0)
    with pytest.raises(ValueError, match="same length"):
        Camera(keys={"times": [0.0, 1.0], "zoom": [1.0]})


def test_colours_by_name_and_number():
    assert rgb("#ffffff") == (1.0, 1.0, 1.0) and rgb("Honey")[0] > 0.8 > rgb("honey")[2]
    with pytest.raises(NonstickError, match="is not a colour"):
        Scene.load("circle", {"liquid.0.colour": "blau"})


def test_the_source_of_a_particle_stays_known_after_a_restart(tmp_path):
    from nonstick import Simulation

    scene = Scene.load("fountain", {"domain.resolution": 16})
    simulation = Simulation(scene)
    for _ in range(4):
        simulation.next_frame()
    arrays = simulation.frame_arrays()
    sources = arrays["sources"]
    assert len(sources) and (np.diff(sources[:, 0]) > 0).all() and sources[-1, 1] == len(scene.model.sources) - 1
    other = Simulation(scene)
    other.restore(simulation.state())
    assert (other.frame_arrays()["sources"] == sources).all()
