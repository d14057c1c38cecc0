"""The picture of a solution: how it converged and, on lines and planes of cells, x and where it touches its bounds."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.optional import need
from ..errors import NonstickError

if TYPE_CHECKING:
    from .solution import Solution

#: colours of x, of the lower and of the upper bound
INK, LOWER, UPPER = "#1f4e79", "#d1495b", "#edae49"


def draw(solution: Solution, path: Any = None) -> Any:
    """The figure of a solution; with `path` it is also written to a file."""
    need("pictures", "matplotlib")
    if path is not None:
        _check_path(Path(path))
    place, axis = _cells(solution)
    figure = _figure(5.0 if axis == 0 else 10.0, 3.6, shown=path is None)
    axes = figure.subplots(1, 1 if axis == 0 else 2, squeeze=False)
    _history(axes[0, 0], solution)
    if axis == 1:
        _line(axes[0, 1], solution, place[:, 0])
    elif axis == 2:
        _plane(figure, axes[0, 1], solution, place)
    if path is not None:
        figure.savefig(path, dpi=150)
    return figure


def _check_path(path: Path) -> None:
    """A sentence for a folder that is missing, or a format that nobody writes."""
    from matplotlib.backend_bases import FigureCanvasBase

    known = FigureCanvasBase.get_supported_filetypes()
    if path.suffix and path.suffix[1:].lower() not in known:
        raise NonstickError(
            f"{path.name} is no picture: its name may end in {', '.join('.' + k for k in sorted(known))}"
        )
    if not path.parent.is_dir():
        raise NonstickError(f"there is no folder {path.parent} for {path.name}: make it first")


def _figure(width: float, height: float, shown: bool) -> Any:
    """A figure; only one that is to be shown belongs to pyplot, which keeps it in memory and chooses a display."""
    if shown:
        from matplotlib.pyplot import figure

        return figure(figsize=(width, height), layout="constrained")
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    made = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(made)
    return made


def _cells(solution: Solution) -> tuple[np.ndarray, int]:
    """Coordinates along the axes in which the cells extend, and their number; 0 if there is nothing to draw."""
    cells = solution.problem.A.cells
    if cells is None or not len(cells):
        return np.empty((0, 0), int), 0
    cells = np.asarray(cells)
    wide = np.flatnonzero(np.ptp(cells, axis=0) > 0)
    return cells[:, wide], wide.size if wide.size <= 2 else 0


def _history(axes: Any, solution: Solution) -> None:
    residuals = np.array(solution.history, float)
    axes.semilogy(solution.history.iterations, np.where(residuals > 0, residuals, np.nan), ".-", color=INK)
    axes.set_xlabel("iteration")
    axes.set_ylabel("residual")
    axes.set_title(f"{solution.method}: {solution.status}", fontsize=10)
    axes.grid(alpha=0.3)


def _line(axes: Any, solution: Solution, at: np.ndarray) -> None:
    order = np.argsort(at)
    box, active = solution.problem.box, solution.active
    for bound, colour, sign in ((box.lower, LOWER, -1), (box.upper, UPPER, 1)):
        if np.isfinite(bound).any():
            axes.plot(at[order], np.where(np.isfinite(bound), bound, np.nan)[order], "--", color=colour, lw=1)
        touching = active == sign
        axes.plot(at[touching], solution.x[touching], "o", ms=3, color=colour)
    axes.plot(at[order], solution.x[order], color=INK, lw=1)
    axes.set_xlabel("cell")
    axes.set_title(f"x, {int((active != 0).sum())} of {at.size} at a bound", fontsize=10)


def _plane(figure: Any, axes: Any, solution: Solution, place: np.ndarray) -> None:
    low = place.min(axis=0)
    shape = tuple(np.ptp(place, axis=0) + 1)
    at = tuple((place - low).T)
    x, active = np.full(shape, np.nan), np.zeros(shape)
    x[at], active[at] = solution.x, solution.active
    extent = (low[0] - 0.5, low[0] + shape[0] - 0.5, low[1] - 0.5, low[1] + shape[1] - 0.5)
    picture = axes.imshow(x.T, origin="lower", extent=extent, cmap="viridis", interpolation="nearest")
    figure.colorbar(picture, ax=axes, shrink=0.85)
    for sign, colour in ((-1, LOWER), (1, UPPER)):
        touching = active == sign
        if touching.any() and min(shape) > 1:
            outline = np.pad(touching.astype(float), 1)
            grid = [np.arange(low[a] - 1, low[a] + shape[a] + 1) for a in range(2)]
            axes.contour(*grid, outline.T, levels=[0.5], colors=colour, linewidths=1.2)
    axes.set_xlim(extent[:2])
    axes.set_ylim(extent[2:])
    axes.set_title(f"x, {int((active != 0).sum())} of {place.shape[0]} at a bound (outlined)", fontsize=10)
