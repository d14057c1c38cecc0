"""Charts of several panels, drawn without a display."""

from __future__ import annotations

from pathlib import Path

from ..io.atomic import replacing
from ..optional import need

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
