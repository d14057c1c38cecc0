"""Charts of several panels, and slices of one pressure solve with pressure and velocity; no display is needed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ...core.optional import need
from ...files.atomic import replacing
from ...grid.faces import between

#: Okabe and Ito's colours, which people with any colour vision can distinguish; their yellow is omitted: it is too
#: light for lines
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#000000")


def new_figure(panels: int = 1, columns: int = 3, share: bool = False):
    """A figure and its axes in reading order, at most `columns` side by side."""
    need("pictures", "matplotlib")
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    across = min(panels, columns)
    down = -(-panels // columns)
    size = (7.0, 4.5) if panels == 1 else (4.2 * across, 3.5 * down)
    figure = Figure(figsize=size, layout="constrained")
    FigureCanvasAgg(figure)  # pyplot is not used: it keeps figures in memory, and would choose a display
    axes = figure.subplots(down, across, squeeze=False, sharex=share, sharey=share).ravel()
    for unused in axes[panels:]:
        unused.remove()
    for each in axes[:panels]:
        each.set_prop_cycle(color=COLOURS)
    if share:
        for k in range(panels):
            axes[k].tick_params(labelbottom=k + columns >= panels)
    return figure, axes[:panels]


def finish(figure, path: Path) -> bool:
    """Write a figure as a PNG file."""
    with replacing(path) as partial:
        figure.savefig(partial, dpi=120, format="png")
    return True


WALL, AIR, INK, SURFACE = "#8d9299", "#f4f6f8", "#22282f", "#1f5f99"


@dataclass(frozen=True)
class Slice:
    """Fields of a plane: pressure (Pa) and velocity at cell centres, phi of the liquid there, solids at nodes."""

    title: str
    dx: float
    pressure: np.ndarray
    velocity: tuple[np.ndarray, np.ndarray]
    phi_liquid: np.ndarray
    phi_solid: np.ndarray


def middle_slice(title: str, problem, solution) -> Slice:
    """The plane half-way along z of a 3D solution; a 2D solution is used directly."""
    u, v = solution.velocity[:2]
    fields = [solution.pressure, 0.5 * (u[1:] + u[:-1]), 0.5 * (v[:, 1:] + v[:, :-1]), problem.phi_liquid]
    nodes = problem.phi_solid
    if problem.dimension == 3:
        k = problem.shape[2] // 2
        fields = [f[:, :, k] for f in fields]
        nodes = nodes[:, :, k]
    p, u, v, phi = fields
    return Slice(title, problem.dx, p, (u, v), phi, np.asarray(nodes))


def compare(slices: Sequence[Slice], path: str | Path, zoom: tuple[float, float, float, float] | None = None) -> Path:
    """One column per slice: the whole tank, and below it the region `zoom` = (x0, x1, y0, y1).

    Colours show pressure, blue where walls push the liquid and red where they pull it; arrows show velocity. All
    columns have the same scales.
    """
    need("pictures", "matplotlib")
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import TwoSlopeNorm
    from matplotlib.figure import Figure

    high = max(float(s.pressure.max()) for s in slices) or 1.0
    low = min(min(float(s.pressure.min()) for s in slices), -0.05 * high)
    norm = TwoSlopeNorm(0.0, low, high)
    speed = max(float(np.hypot(*s.velocity)[s.phi_liquid < 0].max()) for s in slices) or 1.0
    rows = 2 if zoom else 1
    figure = Figure(figsize=(4.6 * len(slices) + 1.0, 4.9 * rows), dpi=110, facecolor="white")
    FigureCanvasAgg(figure)
    axes = figure.subplots(rows, len(slices), squeeze=False)
    for column, s in zip(axes.T, slices):
        _panel(column[0], s, norm, speed, arrows=24)
        column[0].set_title(s.title, color=INK, fontsize=13, pad=10)
        if zoom:
            x0, x1, y0, y1 = zoom
            _panel(column[1], s, norm, speed, arrows=round(13 / (x1 - x0)), size=0.55)
            column[1].set(xlim=(x0, x1), ylim=(y0, y1))
            column[0].plot([x0, x1, x1, x0, x0], [y0, y0, y1, y1, y0], color=INK, lw=1.0, zorder=6)
    figure.subplots_adjust(left=0.02, right=0.87, top=0.93, bottom=0.02, wspace=0.05, hspace=0.05)
    bar = figure.colorbar(ScalarMappable(norm, _colours()), cax=figure.add_axes((0.9, 0.2, 0.022, 0.6)))
    bar.set_label("pressure (Pa)", color=INK)
    bar.ax.set_title("pushed", fontsize=9, color=INK)
    bar.ax.set_xlabel("pulled", fontsize=9, color=INK)
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, pil_kwargs={"optimize": True})
    return path


def _colours():
    from matplotlib.colors import LinearSegmentedColormap

    stops = [
        (0.0, "#a50f15"),
        (0.25, "#ef6548"),
        (0.5, "#ffffff"),
        (0.62, "#9ecae1"),
        (0.82, "#3182bd"),
        (1.0, "#08306b"),
    ]
    return LinearSegmentedColormap.from_list("push and pull", stops)


def _panel(ax, s: Slice, norm, speed: float, arrows: int, size: float = 1.0) -> None:
    nx, ny = s.pressure.shape
    x, y = (np.arange(nx) + 0.5) * s.dx, (np.arange(ny) + 0.5) * s.dx
    liquid = s.phi_liquid < 0
    width, height = nx * s.dx, ny * s.dx
    ax.set_facecolor(AIR)
    shown = np.ma.masked_where(s.phi_liquid >= s.dx, s.pressure)
    ax.imshow(
        shown.T, origin="lower", extent=(0, width, 0, height), norm=norm, cmap=_colours(), interpolation="bilinear"
    )
    ax.contour(x, y, s.phi_liquid.T, levels=[0.0], colors=[SURFACE], linewidths=1.4)
    node_x, node_y = np.arange(nx + 1) * s.dx, np.arange(ny + 1) * s.dx
    ax.contourf(node_x, node_y, s.phi_solid.T, levels=[-1e9, 0.0], colors=[WALL], zorder=3)
    ax.contour(node_x, node_y, s.phi_solid.T, levels=[0.0], colors=[INK], linewidths=1.1, zorder=4)
    step = max(1, round(nx / arrows))
    pick = (slice(step // 2, None, step),) * 2
    X, Y = np.meshgrid(x, y, indexing="ij")
    keep = liquid[pick] & (between(between(s.phi_solid, 0), 1)[pick] > 0)
    length = size * 0.075 * width / speed
    u, v = (c[pick][keep] * length for c in s.velocity)
    ax.quiver(
        X[pick][keep], Y[pick][keep], u, v,
        angles="xy", scale_units="xy", scale=1.0, width=0.0042, color=INK, zorder=5, headwidth=4.2,
    )  # fmt: skip
    ax.set(xlim=(0, width), ylim=(0, height), xticks=[], yticks=[], aspect="equal")
    for spine in ax.spines.values():
        spine.set_visible(False)
