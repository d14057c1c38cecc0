"""Figures that belong to tables: outer iterations, convergence, volume over time. Written beside the caller."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ..io.atomic import replacing


def histogram(path: Path, outer: dict[str, list[float]]) -> None:
    """How many solves took how many outer iterations (Lai, figure 5.5)."""
    outer = {name: values for name, values in outer.items() if values}
    if not outer:
        return
    figure, axes = _figure()
    top = min(12, int(max(max(v) for v in outer.values())))
    width = 0.8 / len(outer)
    for k, (name, values) in enumerate(outer.items()):
        counts = np.bincount(np.minimum(np.array(values, int), top), minlength=top + 1)
        axes.bar(np.arange(top + 1) + k * width, counts, width, label=name)
    axes.set_xlabel("outer iterations")
    axes.set_ylabel("pressure solves")
    _finish(figure, axes, path)


def convergence(path: Path, curves: dict[str, list[float]]) -> None:
    """KKT residual against outer iterations (Lai, figure 5.10)."""
    curves = {name: values for name, values in curves.items() if values}
    if not curves:
        return
    figure, axes = _figure()
    for name, values in curves.items():
        axes.semilogy(np.arange(len(values)), np.maximum(values, 1e-16), label=name)
    axes.set_xlim(0, 60)
    axes.set_xlabel("cycles or outer iterations")
    axes.set_ylabel("KKT residual")
    _finish(figure, axes, path)


def volume(path: Path, curves: dict[str, tuple[np.ndarray, np.ndarray]]) -> None:
    """Change of volume over time (Andersen, figure 15)."""
    figure, axes = _figure()
    for name, (t, v) in curves.items():
        axes.plot(t, v, label=name, linestyle="--" if "slip" in name else "-")
    axes.set_xlabel("time in s")
    axes.set_ylabel("change of volume in %")
    _finish(figure, axes, path)


def profile(path: Path, curves: dict[str, list[float]], frames: list[int]) -> None:
    """Seconds of a solve over the frames of a run (Takahashi–Batty, figures 5, 7, 9)."""
    figure, axes = _figure()
    for name, seconds in curves.items():
        axes.semilogy(frames[: len(seconds)], seconds, marker=".", label=name)
    axes.set_xlabel("frame")
    axes.set_ylabel("seconds")
    _finish(figure, axes, path)


def _figure():
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    return pyplot.subplots(figsize=(7, 4.5), layout="constrained")


def _finish(figure, axes, path: Path) -> None:
    from matplotlib import pyplot

    axes.legend(fontsize=8)
    with replacing(path) as partial:
        figure.savefig(partial, dpi=120, format="png")
    pyplot.close(figure)
