"""Bounded heat diffusion on a dragon, with and without bounds side by side, as a movie and a picture.

    python examples/heat.py            writes heat.mp4 and heat.png

Between the bands at 0 and 100 the bounded dragon stays between 20 and 80 (Takahashi–Batty, figure 2).
"""

from __future__ import annotations

from dataclasses import replace
from itertools import zip_longest

import numpy as np

from nonstick.pictures.render.movie import beside, label, write_movie, write_picture
from nonstick.pictures.render.plane import HeatView, legend
from nonstick.sim.heat.simulation import Heat


def main(n: int = 96, frames: int = 120, movie: str | None = "heat.mp4", picture: str | None = "heat.png"):
    """Run both dragons; returns the last temperatures (bounded, free) and the mask of free cells."""
    bounded = Heat(resolution=n)
    free = replace(bounded, lower=-np.inf, upper=np.inf)
    _, inside, fixed = bounded.begin()
    view = HeatView(inside, shape=bounded.shape, dx=bounded.grid.dx) if movie or picture else None
    images, last = [], (None, None)
    for states in zip_longest(bounded.frames(frames), free.frames(frames)):
        last = tuple(old if new is None else new for new, old in zip(states, last))
        if view is not None:
            texts = ("20 to 80", "no bounds")
            pair = [label(view.draw(q), text) for q, text in zip(last, texts)]
            images.append(beside([pair[0], legend(pair[1])]))
    if movie:
        write_movie(movie, images, fps=15)
    if picture:
        write_picture(picture, images[-1])
    return *last, inside & ~fixed


if __name__ == "__main__":
    main()
