"""Movies and pictures of a run of any kind, or of two runs side by side."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ...core.guarded import make_folder
from ...errors import NonstickError
from ...files.rundir import RunDirectory
from ...pictures.render.movie import above, beside, write_gif, write_movie, write_picture

#: which frames: numbers, a part of all frames, or all
Frames = Sequence[int] | slice | None


class Film(ABC):
    """The images of a run in their order; every kind of scene has its own class."""

    #: number of images, and how fast they follow each other
    count: int
    fps: float
    #: indices of the images in the picture, and the number of images side by side
    stills: Sequence[int]
    across: int = 1

    @abstractmethod
    def images(self) -> Iterator[np.ndarray]:
        """RGB images of one size."""

    def only_stills(self) -> None:  # noqa: B027
        """Leave out all images that are not in the picture, where this can be done."""

    @staticmethod
    def chosen(there: Sequence[int], frames: Frames) -> list[int]:
        """The frames that were asked for, if the run has them."""
        if frames is None:
            return list(there)
        if isinstance(frames, slice):
            wanted = range(*frames.indices(there[-1] + 1))
            found = [k for k in there if k in wanted]
            if not found:
                raise NonstickError(f"no frame was chosen: the run has the frames {there[0]} to {there[-1]}")
            return found
        missing = next((k for k in frames if k not in there), None)
        if missing is not None:
            raise NonstickError(f"the run has no frame {missing}: it has the frames {there[0]} to {there[-1]}")
        return list(frames)


def render(
    path: str | Path,
    compare: str | Path | None = None,
    camera: Any = None,
    out: str | Path | None = None,
    tick: Callable[[int, int], None] | None = None,
    frames: Frames = None,
) -> tuple[Path, ...]:
    """Make a movie, a GIF, pictures or one picture of a run, or of two runs of a kind side by side.

    Parameters
    ----------
    path, compare : str or Path
        Run directories.
    camera : optional
        A camera from `Kind.camera`, instead of that of the scene.
    out : str or Path, optional
        What to write, by its ending: a movie (.mp4), with a picture of a few frames beside it; a moving picture (.gif);
        one picture (.png): of the one frame, or of a few of many; or, without an ending, a directory with a picture of
        each frame. Default: preview.mp4 or compare.mp4 in the directory of the run.
    tick : callable, optional
        Called after each image with its number and the number of all.
    frames : sequence of int or slice, optional
        Which frames, in their order; default: all.

    Returns
    -------
    tuple of Path
        The files: for a movie the movie and the picture.
    """
    from ..kinds import kind_of

    run = RunDirectory.open(path)
    film = kind_of(run.scene()).film(path, compare, camera, frames)
    target = Path(out) if out else run.path / ("preview.mp4" if compare is None else "compare.mp4")
    shown: list[np.ndarray] = []

    def images() -> Iterator[np.ndarray]:
        for k, image in enumerate(film.images()):
            if k in film.stills:
                shown.append(image)
            if tick is not None:
                tick(k + 1, film.count)
            yield image

    if target.suffix == ".gif":
        write_gif(target, images(), film.fps)
        return (target,)
    if target.suffix == "":
        return _sequence(target, images(), film.count)
    if target.suffix == ".png":
        film.only_stills()
        for _ in images():
            pass
        write_picture(target, _sheet(shown, film.across))
        return (target,)
    if target.suffix != ".mp4":
        raise NonstickError(f"{target} has no known ending: use .mp4, .gif, .png, or none for a directory of pictures")
    write_movie(target, images(), film.fps)
    picture = target.with_suffix(".png")
    write_picture(picture, _sheet(shown, film.across))
    return target, picture


def _sheet(shown: Sequence[np.ndarray], across: int) -> np.ndarray:
    """Images in rows."""
    return above([beside(list(shown[k : k + across])) for k in range(0, len(shown), across)])


def _sequence(folder: Path, images: Iterator[np.ndarray], count: int) -> tuple[Path, ...]:
    """Pictures with the numbers 0000, 0001, ... in a directory."""
    if folder.exists() and not folder.is_dir():
        raise NonstickError(
            f"{folder} is a file; give the name of a directory, or a name that ends in .mp4, .gif or .png"
        )
    make_folder(folder)
    digits, files = max(4, len(str(count - 1))), []
    for k, image in enumerate(images):
        files.append(folder / f"{k:0{digits}d}.png")
        write_picture(files[-1], image)
    return tuple(files)
