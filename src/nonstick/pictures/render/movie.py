"""Movies (H.264 in mp4, by the ffmpeg that comes with imageio-ffmpeg), pictures, labels, side by side."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from fractions import Fraction
from functools import cache
from itertools import chain
from pathlib import Path

import numpy as np

from ...core.optional import missing, need
from ...core.show import INK, ramp
from ...errors import NonstickError
from ...files.atomic import replacing

#: the extra of nonstick with the packages that write movies and pictures
EXTRA = "pictures"


def obstacle() -> str | None:
    """A sentence with advice if movies and pictures cannot be written; None if they can."""
    return missing(EXTRA, "imageio_ffmpeg", "PIL")


def write_movie(path: str | Path, images: Iterable[np.ndarray], fps: float, quality: int = 10) -> None:
    """Write RGB images of one size; nothing appears at `path` until the movie is complete.

    `quality` is x264's constant rate factor: 0 is without loss, 51 the worst. The preset takes half the time of the
    usual one, and its files of our pictures are no larger.
    """
    need(EXTRA, "imageio_ffmpeg")
    import imageio_ffmpeg

    images = iter(images)
    first = _even(next(images))
    height, width, _ = first.shape
    rate = str(Fraction(fps).limit_denominator())
    with replacing(path) as partial, tempfile.TemporaryFile() as words:
        command = [
            imageio_ffmpeg.get_ffmpeg_exe(), "-y", "-v", "error", "-f", "rawvideo", "-pix_fmt", "rgb24",
            "-s", f"{width}x{height}", "-r", rate, "-i", "-", "-an", "-vcodec", "libx264", "-pix_fmt", "yuv420p",
            "-preset", "veryfast", "-crf", str(quality), "-movflags", "+faststart", str(partial.absolute()),
        ]  # fmt: skip
        # In a group of its own ffmpeg does not get the Ctrl-C of the terminal: we decide how it ends.
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=words, stderr=words, start_new_session=True)
        pipe = process.stdin
        assert pipe is not None
        try:
            with suppress(BrokenPipeError):  # it has ended early, and its exit code is looked at below
                for image in chain([first], map(_even, images)):
                    pipe.write(np.ascontiguousarray(image).data)
                pipe.close()
            code = process.wait()
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
            with suppress(OSError):
                pipe.close()
        if code != 0 or not partial.is_file() or not partial.stat().st_size:
            words.seek(0)
            said = words.read(2000).decode(errors="replace").strip().splitlines()
            reason = f": {said[-1].strip()}" if said else ""
            raise NonstickError(
                f"ffmpeg could not finish the movie {path} (exit code {code}{reason}); the frames are kept, so look "
                "whether the disk is full and try again with `nonstick render`"
            )


def _even(image: np.ndarray) -> np.ndarray:
    """Make the sizes even, as codecs need."""
    h, w, _ = image.shape
    return image[: h // 2 * 2, : w // 2 * 2]


def write_gif(path: str | Path, images: Iterable[np.ndarray], fps: float) -> None:
    """Write RGB images as one moving picture that repeats; nothing appears at `path` until it is complete.

    A GIF has at most 256 colours, here one table for all images, and shows at most 50 images a second.
    """
    need(EXTRA, "PIL")
    from PIL import Image

    pictures = [Image.fromarray(image) for image in images]
    some = pictures[:: max(1, len(pictures) // 8)]
    sample = Image.fromarray(np.concatenate([np.asarray(p)[::2, ::2] for p in some]))
    table = sample.quantize(128, Image.Quantize.MEDIANCUT)
    drawn = [p.quantize(palette=table, dither=Image.Dither.NONE) for p in pictures]
    pause = max(20, round(1000 / fps / 10) * 10)
    with replacing(path) as partial:
        drawn[0].save(
            partial, format="GIF", save_all=True, append_images=drawn[1:], duration=pause, loop=0, optimize=True
        )


def write_picture(path: str | Path, image: np.ndarray, colours: int | None = None) -> None:
    """Write an RGB image; with a table of at most 256 `colours` the file is much smaller, and writing takes longer."""
    need(EXTRA, "PIL")
    from PIL import Image

    with replacing(path) as partial:
        picture = Image.fromarray(image)
        if colours is not None:
            picture = picture.quantize(colours, Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
        # the closest packing took seven times as long, for 6 % less room
        picture.save(partial, format="PNG", optimize=colours is not None)


@cache
def _font(size: int):
    """The font of labels: reading it takes longer than writing with it."""
    from PIL import ImageFont

    return ImageFont.load_default(size)


def label(image: np.ndarray, text: str, corner: str = "top") -> np.ndarray:
    """Text in a corner of an image, on a light ground."""
    need(EXTRA, "PIL")
    from PIL import Image, ImageDraw

    h, w, _ = image.shape
    size = max(11, h // 32)
    font, pad = _font(size), size // 2
    box = font.getbbox(text)
    wide, high = min(w - pad, int(box[2]) + pad + 1), min(h, int(box[3]) + pad + 1)
    y = pad if corner == "top" else max(0, h - (high + pad - 1))
    out = image.copy()
    # only the ground of the text is drawn on: a whole image would be copied twice
    ground = Image.fromarray(np.ascontiguousarray(out[y : y + high, pad : pad + wide]))
    draw = ImageDraw.Draw(ground, "RGBA")
    draw.rectangle((0, 0, *ground.size), fill=(255, 255, 255, 190))
    draw.text((pad // 2, pad // 3), text, fill=INK, font=font)
    out[y : y + high, pad : pad + wide] = ground
    return out


def colour_bar(image: np.ndarray, text: str, low: str, high: str, colours: np.ndarray | None = None) -> np.ndarray:
    """A legend of the colours in the lower right corner: a ramp between two values, with its name above.

    `colours` (n, 3) replaces the ramp of the palette.
    """
    need(EXTRA, "PIL")
    from PIL import Image, ImageDraw

    h, w, _ = image.shape
    if w < 120 or h < 80:  # the image is too small for it
        return image
    picture = Image.fromarray(image)
    draw = ImageDraw.Draw(picture, "RGBA")
    size = max(11, h // 32)
    font, pad, long = _font(size), size // 2, max(60, w // 4)
    x1, y1 = w - 2 * pad, h - 2 * pad
    x0, y0 = x1 - long, y1 - 3 * size - pad
    draw.rectangle((x0 - pad, y0 - pad, x1 + pad, y1 + pad), fill=(255, 255, 255, 190))
    draw.text((x0, y0 - pad // 2), text, fill=INK, font=font)
    draw.text((x0, y1), low, fill=INK, font=font, anchor="ls")
    draw.text((x1, y1), high, fill=INK, font=font, anchor="rs")
    out = np.array(picture)
    shades = (
        ramp(np.linspace(0.0, 1.0, long))
        if colours is None
        else colours[np.linspace(0, len(colours) - 1, long, dtype=int)]
    )
    top = y0 + size + pad // 2
    out[top : top + size // 2 + 2, x0:x1] = (255 * shades + 0.5).astype(np.uint8)
    return out


def beside(images: list[np.ndarray], gap: int = 8) -> np.ndarray:
    """Images side by side on white; shorter images are padded."""
    height = max(i.shape[0] for i in images)
    parts = []
    for k, image in enumerate(images):
        if k:
            parts.append(np.full((height, gap, 3), 255, np.uint8))
        pad = height - image.shape[0]
        parts.append(np.pad(image, ((pad // 2, pad - pad // 2), (0, 0), (0, 0)), constant_values=255))
    return np.concatenate(parts, axis=1)


def above(rows: list[np.ndarray], gap: int = 8) -> np.ndarray:
    """Images on top of each other on white."""
    width = max(i.shape[1] for i in rows)
    parts = []
    for k, image in enumerate(rows):
        if k:
            parts.append(np.full((gap, width, 3), 255, np.uint8))
        pad = width - image.shape[1]
        parts.append(np.pad(image, ((0, 0), (0, pad), (0, 0)), constant_values=255))
    return np.concatenate(parts)
