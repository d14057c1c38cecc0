"""The chart of a run of liquid: energy and volume over time, and a panel for each probe."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ...errors import NonstickError
from ...io.probes import read_probes
from ...io.rundir import PROBES, RunDirectory
from ...render.charts import finish, new_figure
from ..kinds import column


def draw(run: RunDirectory, path: Path) -> None:
    """Write the chart of a run; the numbers are those of stats.csv and probes.csv."""
    rows = run.rows()
    if not rows:
        raise NonstickError(f"{run.path} has no steps yet, so there is nothing to plot")
    groups: dict[str, list[str]] = {}
    table = read_probes(run) if run.rows(PROBES) else None
    for name in table or ():
        probe, _, part = name.rpartition(".")
        # flow and volume, force and torque: one panel for each unit
        groups.setdefault(f"{probe} [{table.units[name]}]", []).append(part)  # type: ignore[union-attr]
    figure, axes = new_figure(2 + len(groups), 3)
    time = column(rows, "time")
    for part in ("kinetic", "potential"):
        axes[0].plot(time, column(rows, part), label=part, lw=1.2)
    axes[0].set(title="energy of the liquid", ylabel="J")
    axes[0].legend(fontsize=8)
    axes[1].plot(time, 100 * column(rows, "volume_error"), lw=1.2)
    axes[1].set(title="volume error", ylabel="%")
    for panel, (title, parts) in zip(axes[2:], groups.items()):
        assert table is not None
        probe, _, unit = title.removesuffix("]").rpartition(" [")
        for part in parts:
            panel.plot(table.time, table[f"{probe}.{part}"], label=part, lw=1.2)
        panel.set(title=probe, ylabel=unit)
        if len(parts) > 1:
            panel.legend(fontsize=8)
        else:
            panel.set_ylabel(f"{parts[0]} in {unit}")
        if np.isnan(table[f"{probe}.{parts[0]}"]).all():
            panel.text(0.5, 0.5, "no liquid there", ha="center", transform=panel.transAxes)
    for panel in axes:
        panel.set_xlabel("time in s")
        panel.grid(alpha=0.25)
    finish(figure, path)
