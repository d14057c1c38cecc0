"""Draw the figures of the papers that show a solve and no run: curves, fields, heat.

    python docs/draw_plots.py [--out DIR] [NAME ...]       one picture, docs/images/papers/NAME.png, for each name

`NAME:SIZE` takes another number of cells. docs/papers.md says which sizes the papers have.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from make_gallery import LARGE, ROOT, shrunk

from nonstick import PressureProblem
from nonstick.api import solve_problem
from nonstick.bench import figures
from nonstick.bench.problems import RADIUS, ball, ball_in_a_box, sampled, viscous_snapshots
from nonstick.bench.row import Trace, version
from nonstick.discretise.viscosity import ViscousBox
from nonstick.inverse import GIA, TopologyAware, Voxels
from nonstick.inverse.multigrid.faces.coarsening import fine_labels
from nonstick.pictures.render.charts import finish, new_figure
from nonstick.pictures.render.movie import above, label, write_picture
from nonstick.pictures.render.plane import HeatView, legend
from nonstick.sim.heat.simulation import Heat

#: boxes and Jacobi sweeps, the latter damped by ½ and by McAdams' ⅔; the paper prints no factor
SMOOTHERS = ("visc-box-mg", "visc-jacobi-mg", "visc-jacobi-mg+mcadams")


def curve(problem: ViscousBox, method: str, start: np.ndarray | None = None) -> Trace:
    """How the residual of a solve fell, to a millionth."""
    first = 1.0 if start is None else problem.kkt(start)
    solution = solve_problem(problem, method, x0=start, rtol=1e-6 * first, maxiter=80, criterion="papers")
    print(f"  {method}: {problem.n} unknowns, {solution.iterations} iterations, {solution.status}")
    return [(k, residual / first) for k, residual in enumerate(solution.history)]


def cells_of_a_circle(n: int, file: Path) -> None:
    """Lai, figure 3.1: the cells of a circle whose right half is liquid."""
    nodes = np.linspace(-1.2, 1.2, n + 1)
    X, Y = np.meshgrid(nodes, nodes, indexing="ij")
    solid = corners(np.hypot(X, Y) - 1.0)
    # where the wall cuts a cell, the liquid ends at the wall
    wet = corners(-X)
    out, cut = solid.min(axis=0) >= 0.0, (solid < 0.0).any(axis=0) & (solid > 0.0).any(axis=0)
    liquid = wet.min(axis=0) < 0.0
    kind = np.where(out, 1, np.where(cut, np.where(liquid, 3, 4), np.where(liquid, 0, 2)))
    names = ("liquid", "solid", "air", "liquid and solid", "air and solid")
    figure, (axes,) = new_figure()
    _cells(axes, kind, ["#d9534f", "#4a6fb5", "#ffffff", "#9a9da1", "#a9d3ef"], names)
    finish(figure, file)


def corners(nodes: np.ndarray) -> np.ndarray:
    """(4, cells): the values at the corners of every cell."""
    return np.stack([nodes[i : nodes.shape[0] - 1 + i, j : nodes.shape[1] - 1 + j] for i in (0, 1) for j in (0, 1)])


def _cells(axes, kind: np.ndarray, colours: list[str], names: Sequence[str] = ()) -> None:
    """Cells in colours, with the lines of the grid."""
    from matplotlib.colors import ListedColormap
    from matplotlib.patches import Patch

    axes.pcolormesh(kind.T, cmap=ListedColormap(colours), vmin=0, vmax=len(colours) - 1, edgecolors="0.55", lw=0.3)
    axes.set(aspect="equal", xticks=[], yticks=[])
    if names:
        patches = [Patch(fc=c, ec="0.5", label=name) for c, name in zip(colours, names)]
        axes.legend(handles=patches, loc="center left", bbox_to_anchor=(1.02, 0.5), fontsize=8, frameon=False)


def voxels(n: int, file: Path) -> None:
    """Aanjaneya, figures 7 and 8: the voxels of the test problem in 2D, and those of its coarser levels."""
    system = ball_in_a_box(n, 2).system
    levels = [fine_labels(system)]
    for _ in range(2):
        system = Voxels().coarser(system)
        levels.append(system.labels)
    figure, all_axes = new_figure(3, 3)
    for axes, labels in zip(all_axes, levels):
        flat = np.squeeze(labels)
        _cells(axes, flat, ["#d9534f", "#4a90d9", "#4caf50"], ("air", "fluid", "solid") if len(flat) == n // 4 else ())
        axes.set_title(f"{len(flat)}²", fontsize=9)
    finish(figure, file)


def merging(n: int, file: Path) -> None:
    """Takahashi–Batty, figure 3: cells that merge on the next level, without and with a look at thin walls."""
    u, v = np.ones((n + 1, n)), np.ones((n, n + 1))
    u[n // 2 - 1, : n - 2] = 0.0  # walls between cells, not on the lines between blocks
    v[n // 2 + 1 :, n // 2 - 1] = 0.0
    speed = (np.zeros_like(u), np.zeros_like(v))
    source = PressureProblem(phi_liquid=-np.ones((n, n)), velocity=speed, dt=1.0, dx=1.0, weights=(u, v))
    A = source.problem.A
    figure, all_axes = new_figure(2, 2)
    for axes, (name, recipe) in zip(all_axes, (("giaamg", GIA()), ("tagiaamg", TopologyAware(theta=0.0, cut=0.0)))):
        parent, count, _ = recipe.aggregate(A)
        colour = np.random.default_rng(1).permutation(count) % 20
        kind = np.zeros((n, n))
        kind[tuple(np.asarray(A.cells).T[:2])] = colour[parent]
        axes.pcolormesh(kind.T, cmap="tab20", edgecolors="white", lw=0.4)
        axes.plot([n // 2 - 1] * 2, [0, n - 2], "k", lw=3)
        axes.plot([n // 2 + 1, n], [n // 2 - 1] * 2, "k", lw=3)
        axes.set(aspect="equal", xticks=[], yticks=[])
        axes.set_title(f"{name}: {A.n} cells become {count}", fontsize=9)
    finish(figure, file)


def varying_block(n: int, file: Path) -> None:
    """Aanjaneya, figure 11 right: smoothers where the viscosity varies by 30 000, frame 40 of `varying-block`."""
    source = sampled(viscous_snapshots("varying-block", n, 40), 40, 2)[-1].problem
    curves = {method: curve(source.problem, method, source.advected()) for method in SMOOTHERS}
    figures.convergence({f"varying viscosity, {n} cells": curves}, "iterations", {}, 1e-6).draw(file)


def test_problem(n: int, file: Path) -> None:
    """Aanjaneya, figure 12: the test problem in 2D, and the two parts of its solution as heights, for μΔt/ρ = 1."""
    u, v = ball_in_a_box(n, 2, 1.0).solve("visc-auto", rtol=1e-8).velocity
    x = (np.arange(n) + 0.5) / n
    X, Y = np.meshgrid(x, x, indexing="ij")
    ball, liquid = np.hypot(X - 0.5, Y - 0.5) < RADIUS, X - 0.5 + 0.25 * np.sin(X * Y) < 0.0
    figure, (plan,) = new_figure()
    figure.set_layout_engine(None)
    figure.set_size_inches(9.0, 3.0)
    plan.set_position([0.04, 0.12, 0.24, 0.74])
    where = np.where(ball, 2.0, np.where(liquid, 1.0, 0.0))
    plan.contourf(X, Y, where, [-0.5, 0.5, 1.5, 2.5], colors=["#e9edf2", "#4a90d9", "#8a8d92"])
    plan.plot([0.1], [0.1], "o", color="#2ca02c", ms=7)
    plan.set(aspect="equal", xticks=[0, 0.5, 1], yticks=[0, 0.5, 1])
    plan.set_title("liquid, ball, impulse", fontsize=9)
    for k, (name, field) in enumerate((("u", 0.5 * (u[1:] + u[:-1])), ("v", 0.5 * (v[:, 1:] + v[:, :-1])))):
        axes = figure.add_axes((0.29 + 0.34 * k, 0.06, 0.36, 0.94), projection="3d")
        shown, step = np.where(liquid & ~ball, field, np.nan), max(1, n // 64)
        axes.plot_surface(*(a[::step, ::step] for a in (X, Y, shown)), cmap="viridis", rcount=64, ccount=64)
        axes.set(zticklabels=[], xticks=[0, 0.5], yticks=[0, 0.5, 1])
        axes.set_title(f"{name} after the step", fontsize=9, y=0.93)
        axes.set_box_aspect((0.5, 1.0, 0.6), zoom=0.95)
        axes.view_init(28, -50)
    finish(figure, file)


def smoothers(n: int, file: Path) -> None:
    """Aanjaneya, figure 14: boxes against Jacobi on the test problem, in 2D, and in 3D on a quarter of the cells."""
    panels = {}
    for d, cells in ((2, n), (3, n // 4)):
        panels[f"{cells}{'²³'[d - 2]}"] = {method: curve(ball(cells, d), method) for method in SMOOTHERS}
    figures.convergence(panels, "iterations", {}, 1e-6).draw(file)


def dragon(n: int, file: Path) -> None:
    """Takahashi–Batty, figure 2: the dragon at the start, its equilibrium without bounds, and that with bounds."""
    heat = Heat(resolution=n, method="auto", rtol=1e-8)
    temperature, inside, fixed = heat.begin()
    free = inside & ~fixed
    states = {"start": temperature}
    for name, each in (("no bounds", replace(heat, lower=-np.inf, upper=np.inf)), ("20 to 80", heat)):
        states[name] = each.equilibrium()
        values = states[name][free]
        print(f"  {name}: {free.sum()} unknowns, {values.min():.1f} to {values.max():.1f}, mean {values.mean():.2f}")
    view = HeatView(inside, 620, heat.shape, heat.grid.dx)
    images = [label(view.draw(state), name) for name, state in states.items()]
    image = shrunk(above([*images[:-1], legend(images[-1])]), 620)
    write_picture(file, image)
    if file.stat().st_size > LARGE:
        write_picture(file, image, 256)


#: name → what draws it, and its cells along a side
PLOTS: dict[str, tuple[Callable[[int, Path], None], int]] = {
    "lai-3.1": (cells_of_a_circle, 24),
    "aanjaneya-8": (voxels, 32),
    "tb-3": (merging, 12),
    "aanjaneya-11": (varying_block, 48),
    "aanjaneya-12": (test_problem, 256),
    "aanjaneya-14": (smoothers, 256),
    "tb-2": (dragon, 256),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "images" / "papers", help="where the pictures go")
    parser.add_argument("names", nargs="*", help="only these pictures")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    for wanted in given.names or PLOTS:
        name, _, cells = wanted.partition(":")
        plot, usual = PLOTS[name]
        began = time.process_time()
        print(f"{name}, {cells or usual} cells, {version()}", flush=True)
        plot(int(cells or usual), given.out / f"{name}.png")
        print(f"  {time.process_time() - began:.0f} processor seconds", flush=True)


if __name__ == "__main__":
    main()
