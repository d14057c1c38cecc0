"""Pictures: liquid where the level set says so, in 2D and 3D; a movie that opens."""

import numpy as np
import pytest

from nonstick import Scene
from nonstick.render import plane as flat
from nonstick.render import space
from nonstick.render.movie import beside, colour_bar, label
from nonstick.sim.preview import render
from nonstick.sim.run import run


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
    image = flat.draw(frame, solid, dx, 100, 100, colour)
    assert image.shape == (100, 100, 3)
    if colour == "liquid":
        assert bluish(image[60:95, 30:95]).all() and not bluish(image[2:10, 30:95]).any()
        assert bluish(image[12:18, 70:80]).any()  # the lone particle
    assert not bluish(image[:, :22]).any()  # the wall covers what is behind it


def test_ray_marcher_shows_a_ball_in_the_middle():
    n = 24
    at = np.meshgrid(*[np.arange(n) + 0.5] * 3, indexing="ij")
    phi = np.sqrt(sum((a - n / 2) ** 2 for a in at)) - 6.0
    solid = np.full((n + 1,) * 3, 50.0)
    image = space.draw(phi, solid, 1.0, 80, 80, 0.0, 0.0, 1.0)
    assert bluish(image[34:46, 34:46]).mean() > 0.8
    assert not bluish(image[:8]).any() and not bluish(image[:, :8]).any()


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


def test_the_camera_shows_all_of_the_room():
    n = 16
    room = np.array([[4.0, 4.0, 4.0], [12.0, 12.0, 12.0], [4.0, 12.0, 8.0]])
    eye, forward, right, up, (left, top, pixel) = space._camera(np.full(3, 16.0), room, 60, 40, 30.0, 18.0, 1.0)
    at = room - eye
    col, row = (at @ right / (at @ forward) - left) / pixel, (top - at @ up / (at @ forward)) / pixel
    assert (col > 0).all() and (col < 60).all() and (row > 0).all() and (row < 40).all()
    phi = np.full((n, n, n), 1.5)
    image = space.draw(phi, np.full((n + 1,) * 3, 50.0), 1.0, 60, 40, 30.0, 18.0, 1.0, room=room)
    assert image.shape == (40, 60, 3) and image.min() > 40  # walls all over, none of them black


@pytest.mark.parametrize("shape", [(8, 10), (7, 9)])
def test_pixels_between_others_are_filled_where_those_agree(shape):
    h, w = shape
    i, j = np.mgrid[:h, :w]
    smooth = np.repeat((0.001 * i + 0.002 * j)[..., None], 3, axis=2)
    image = np.where((i % 2 == 0) & (j % 2 == 0), 1.0, np.nan)[..., None] * smooth
    todo = space._between(image, np.zeros(shape, np.int8))
    assert not todo.any()
    np.testing.assert_allclose(image[: h - 2, : w - 2], smooth[: h - 2, : w - 2], atol=1e-12)
    assert np.isfinite(image).all()
    image[:, 6:] += 0.5  # an edge
    todo = space._between(image, np.zeros(shape, np.int8))
    assert todo[1::2, 4:6].all() and todo[::2, 5].all() and not todo[:, :4].any() and not todo[::2, ::2].any()
