"""The movie and the picture of a run of any kind, or of two runs side by side."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..io.rundir import RunDirectory
from ..render.movie import above, beside, write_movie, write_picture


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


def render(
    path: str | Path,
    compare: str | Path | None = None,
    camera: Any = None,
    out: str | Path | None = None,
    tick: Callable[[int, int], None] | None = None,
) -> tuple[Path, Path]:
    """Make the movie and the picture of a run, or of two runs of a kind side by side.

    Parameters
    ----------
    path, compare : str or Path
        Run directories.
    camera : optional
        A camera from `Kind.camera`, instead of that of the scene.
    out : str or Path, optional
        The movie; by default preview.mp4 or compare.mp4 in the directory of the run. The picture lies beside it.
    tick : callable, optional
        Called after each image with its number and the number of all.

    Returns
    -------
    tuple of Path
        The movie and the picture.
    """
    from .kinds import kind_of

    run = RunDirectory.open(path)
    film = kind_of(run.scene()).film(path, compare, camera)
    movie = Path(out) if out else run.path / ("preview.mp4" if compare is None else "compare.mp4")
    picture = movie.with_suffix(".png")
    shown: list[np.ndarray] = []

    def images() -> Iterator[np.ndarray]:
        for k, image in enumerate(film.images()):
            if k in film.stills:
                shown.append(image)
            if tick is not None:
                tick(k + 1, film.count)
            yield image

    write_movie(movie, images(), film.fps)
    write_picture(picture, above([beside(shown[k : k + film.across]) for k in range(0, len(shown), film.across)]))
    return movie, picture
