"""Pictures: liquid where the level set says so, in 2D and 3D; a movie that opens."""

import numpy as np
import pytest

from nonstick import Scene
from nonstick.grid.levelset import smooth
from nonstick.pictures.render import plane as flat
from nonstick.pictures.render._march import _between, _contrast, _rough
from nonstick.pictures.render.movie import beside, colour_bar, label
from nonstick.pictures.render.scenery import Scenery
from nonstick.pictures.render.space import Studio, Style, Viewpoint
from nonstick.sim.run.loop import run
from nonstick.sim.run.preview import render


def bluish(image):
    image = image.astype(int)
    return (image[..., 2] - image[..., 0]) > 60


@pytest.mark.parametrize("colour", ["liquid", "speed", "pressure"])
def test_flat_drawing_shows_the_liquid_and_the_solid(colour):
    n, dx = 20, 0.1
    y = (np.arange(n) + 0.5) * dx
    phi = np.broadcast_to(y[None] - 1.0, (n, n))
    nodes = np.meshgrid(np.arange(n + 1) * dx, np.arange(n + 1) * dx, indexing="ij")
    solid = nodes[0] - 0.5
    frame = {"phi": phi.astype(np.float32), "pressure": np.full((n, n), 5.0), "position": np.array([[1.5, 1.7]]),
             "velocity": np.array([[1.0, 0.0]])}  # fmt: skip
    image = flat.draw(frame, solid, dx, (100, 100), flat.Paint(colour))
    assert image.shape == (100, 100, 3)
    if colour == "liquid":
        assert bluish(image[60:95, 30:95]).all() and not bluish(image[2:10, 30:95]).any()
        assert bluish(image[12:18, 70:80]).any()  # the lone particle
    assert not bluish(image[:, :22]).any()  # the wall covers what is behind it


def a_ball(n=24, radius=6.0):
    at = np.meshgrid(*[np.arange(n) + 0.5] * 3, indexing="ij")
    return np.sqrt(sum((a - n / 2) ** 2 for a in at)) - radius


def empty(n=24):
    return Scenery.of_nodes(np.full((n + 1,) * 3, 50.0), 1.0)


def test_ray_marcher_shows_a_ball_in_the_middle():
    image = Studio(80, 80).draw(a_ball(), empty(), 1.0, Viewpoint(0.0, 0.0))
    assert bluish(image[34:46, 34:46]).mean() > 0.8
    assert not bluish(image[:8]).any() and not bluish(image[:, :8]).any()


def test_tint_and_colours_over_cells():
    amber = Studio(60, 60, Style(tint=(0.93, 0.58, 0.08))).draw(a_ball(), empty(), 1.0, Viewpoint(0.0, 0.0)).astype(int)
    assert (amber[26:34, 26:34, 0] - amber[26:34, 26:34, 2]).min() > 60
    dye = np.empty((24, 24, 24, 3))
    dye[:12] = [0.05, 0.33, 0.56]
    dye[12:] = [0.8, 0.1, 0.05]
    both = Studio(60, 60).draw(a_ball(), empty(), 1.0, Viewpoint(0.0, 0.0), dye).astype(int)
    assert bluish(both[26:34, 22:27]).all() and (both[26:34, 33:38, 0] - both[26:34, 33:38, 2]).min() > 60


def test_the_lit_side_is_where_the_light_is():
    sums = {}
    for side in (-1.0, 1.0):
        style = Style(tint=(0.8, 0.8, 0.8), clear=0.005, light=(side, 0.3, 0.3))
        image = Studio(60, 60, style).draw(a_ball(), empty(), 1.0, Viewpoint(0.0, 0.0)).astype(int).sum(axis=2)
        sums[side] = image[26:34, 22:28].mean() - image[26:34, 32:38].mean()
    assert sums[-1.0] > 60 and sums[1.0] < -60


def test_the_background_has_its_colour():
    image = Studio(60, 60, Style(background=(1.0, 0.0, 0.0))).draw(a_ball(), empty(), 1.0)
    assert image[1, 1, 0] > 150 and image[1, 1, 1:].max() == 0


def test_the_target_is_in_the_middle_and_a_short_lens_is_close():
    view = Viewpoint(35.0, 20.0, target=(3.0, 4.0, 5.0)).view((24, 24, 24), None, 60, 40)
    at = np.array([3.0, 4.0, 5.0]) - view.eye
    left, top, pixel = view.window
    assert (at @ view.right / (at @ view.forward) - left) / pixel == pytest.approx(30.0)
    assert (top - at @ view.up / (at @ view.forward)) / pixel == pytest.approx(20.0)
    near, far = (np.linalg.norm(Viewpoint(lens=mm).view((24, 24, 24), None, 60, 40).eye - 12) for mm in (24, 200))
    assert far / near == pytest.approx(200 / 24)


def test_preview_and_comparison(tmp_path):
    keys = {"domain.resolution": 16, "time.frames": 3, "camera.width": 96, "camera.height": 96}
    run(Scene.load("circle", keys), tmp_path / "a")
    run(Scene.load("circle", keys | {"walls.pressure": "none"}), tmp_path / "b")
    movie, picture = render(tmp_path / "a")
    assert movie.read_bytes()[4:8] == b"ftyp" and picture.read_bytes()[:4] == b"\x89PNG"
    movie, picture = render(tmp_path / "b", tmp_path / "a")
    assert movie.name == "compare.mp4" and movie.stat().st_size > 1000


def test_side_by_side_and_labels():
    a, b = np.zeros((20, 30, 3), np.uint8), np.zeros((40, 10, 3), np.uint8)
    assert beside([a, b]).shape == (40, 48, 3)
    assert label(np.full((64, 64, 3), 128, np.uint8), "x").max() > 128


def test_the_colour_bar_shows_the_ramp_where_there_is_room():
    image = np.full((200, 240, 3), 128, np.uint8)
    barred = colour_bar(image, "speed (m/s)", "0", "2.5")
    assert (barred != image).any(axis=2)[140:, 150:].mean() > 0.5 and (barred[:130] == image[:130]).all()
    row = barred[170:185, 160:225].astype(int)
    assert (np.ptp(row, axis=1) > 100).any()
    assert (colour_bar(image[:60, :80], "speed", "0", "1") == 128).all()


@pytest.mark.parametrize("lens", [24.0, 80.0, 400.0])
def test_the_camera_shows_all_of_the_room(lens):
    n = 16
    room = np.array([[4.0, 4.0, 4.0], [12.0, 12.0, 12.0], [4.0, 12.0, 8.0]])
    view = Viewpoint(30.0, 18.0, 1.0, lens).view((16, 16, 16), room, 60, 40)
    at, (left, top, pixel) = room - view.eye, view.window
    col, row = (
        (at @ view.right / (at @ view.forward) - left) / pixel,
        (top - at @ view.up / (at @ view.forward)) / pixel,
    )
    assert (col > 0).all() and (col < 60).all() and (row > 0).all() and (row < 40).all()
    image = Studio(60, 40, room=room).draw(np.full((n, n, n), 1.5), empty(n), 1.0, Viewpoint(lens=lens))
    assert image.shape == (40, 60, 3) and image.min() > 40  # walls all over, none of them black


@pytest.mark.parametrize("shape", [(8, 10), (7, 9)])
def test_pixels_between_others_are_filled_where_those_lie_on_straight_lines(shape):
    h, w = shape
    i, j = np.mgrid[:h, :w]
    straight = np.repeat((0.05 * i + 0.03 * j)[..., None], 3, axis=2)
    known = (i % 2 == 0) & (j % 2 == 0)
    image = np.where(known[..., None], straight, np.nan)
    todo, lined = np.zeros(shape, np.int8), np.zeros(shape, np.int8)
    bent = np.empty(((h + 1) // 2, (w + 1) // 2))

    def fill():
        _rough(image, bent)
        _between(image, todo, lined, bent, 0.17)

    fill()
    inner = np.s_[: h - 1 - (h - 1) % 2, : w - 1 - (w - 1) % 2]
    assert not todo[inner].any()
    np.testing.assert_allclose(image[inner], straight[inner], atol=1e-12)
    image[:, 6:] += 0.5  # an edge
    fill()
    assert todo[1::2, 4:6].all() and todo[::2, 5].all() and not todo[known].any()
    lined[1, 1] = 1
    fill()
    assert todo[1, 1] == 1


def test_pixels_beside_different_ones_get_more_rays():
    image, todo = np.zeros((4, 6, 3)), np.empty((4, 6), np.int8)
    image[1, 2] = 0.1
    image[2, 4, 1] = 0.5
    _contrast(image, todo, 0.07, 0.2)
    assert todo[1, 2] == 3 and todo[0, 2] == 3 and todo[1, 1] == 3 and todo[0, 0] == 0
    assert todo[2, 4] == 5 and todo[2, 5] == 5 and todo[3, 4] == 5 and todo[3, 0] == 0


def test_smoothing_is_a_filter_along_every_axis():
    from scipy.ndimage import convolve1d

    field = np.random.default_rng(2).random((5, 1, 4))
    want = convolve1d(
        convolve1d(field, [0.125, 0.75, 0.125], 0, mode="nearest"), [0.125, 0.75, 0.125], 2, mode="nearest"
    )
    np.testing.assert_allclose(smooth(field), want, atol=1e-12)
