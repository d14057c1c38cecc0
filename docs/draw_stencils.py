"""Draw the stencils of the papers from the weights and the lists of faces that our own transfers and boxes hold.

    python docs/draw_stencils.py [--out DIR] [NAME ...]       one picture, docs/images/papers/NAME.png, for each name

Stencils have no size: each is drawn around one cell or one face of a small grid.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import numpy as np

from nonstick import PressureProblem
from nonstick.bench.problems import ball_in_a_box
from nonstick.bench.row import version
from nonstick.inverse import Voxels
from nonstick.inverse.multigrid.faces.box import Face, full_box, stencil_box
from nonstick.inverse.multigrid.faces.coarsening import FaceTransfer
from nonstick.inverse.multigrid.grid.geometric import CellFaces, Geometric, Halved
from nonstick.pictures.render.charts import COLOURS, finish, new_figure

IMAGES = Path(__file__).parent / "images" / "papers"
NAMES = "uvw"


def panels(count: int, spatial: tuple[int, ...] = (), width: float = 3.2):
    """A figure of panels side by side, of which some have three axes; panels have no ticks."""
    figure, _ = new_figure()
    figure.clear()
    figure.set_size_inches(width * count, 3.2)
    out = []
    for k in range(count):
        axes = figure.add_subplot(1, count, k + 1, projection="3d" if k in spatial else None)
        axes.set_axis_off()
        if k in spatial:
            axes.set_box_aspect((1, 1, 1), zoom=1.25)
            axes.view_init(20, -62)
        else:
            axes.set_aspect("equal")
        out.append(axes)
    return figure, out


def lines(axes, low: int, high: int, step: float = 1.0, **style) -> None:
    """The lines of a grid in 2D."""
    for at in np.arange(low, high + 0.5 * step, step):
        axes.plot([at, at], [low, high], **style)
        axes.plot([low, high], [at, at], **style)


def cube(axes, low, size: float, **style) -> None:
    """The edges of a cube."""
    corners = np.array([[i, j, k] for i in (0, 1) for j in (0, 1) for k in (0, 1)]) * size + np.asarray(low)
    for a in range(8):
        for b in range(a):
            if np.isclose(np.abs(corners[a] - corners[b]).sum(), size):
                axes.plot(*zip(corners[a], corners[b]), **style)


def share(weight: float) -> str:
    """A weight as a fraction."""
    return str(Fraction(weight).limit_denominator(64))


# -- Lai, figures 4.1 to 4.3 -----------------------------------------------------------------------------------


def weights_of(cell: tuple[int, ...], wall: bool = False) -> dict[tuple[int, ...], float]:
    """Coarse cell → weight, for one fine cell of a full box of 8 cells a side; `wall`: closed at half the width."""
    d = len(cell)
    weights = [np.ones(tuple(9 if axis == a else 8 for axis in range(d))) for a in range(d)]
    if wall:
        weights[0][4] = 0.0
    speed = tuple(np.zeros_like(w) for w in weights)
    source = PressureProblem(phi_liquid=-np.ones((8,) * d), velocity=speed, dt=1.0, dx=1.0, weights=tuple(weights))
    A = source.problem.A
    faces = CellFaces.of(A)
    half = Halved.of(faces, split=False)
    row = int(np.flatnonzero((np.asarray(A.cells)[:, :d] == cell).all(axis=1))[0])
    P = Geometric().interpolation(faces, half)[[row]].tocoo()
    return {tuple(map(int, half.faces.cells[col][:d])): float(w) for col, w in zip(P.col, P.data)}


def interpolation(file: Path) -> None:
    """Fine cells take from the coarse cell around them and from those across a face; across a wall they do not."""
    figure, (plane, space, walled) = panels(3, (1,))
    for axes, wall in ((plane, False), (walled, True)):
        cell = (3, 4)
        lines(axes, 0, 8, color="0.85", lw=0.6)
        lines(axes, 0, 8, 2, color="0.4", lw=1.0)
        here = np.array(cell) + 0.5
        axes.fill(*(np.array(cell)[:, None] + [[0, 1, 1, 0], [0, 0, 1, 1]]), color=COLOURS[4])
        for coarse, weight in weights_of(cell, wall).items():
            at = 2.0 * np.array(coarse) + 1.0
            axes.plot(*zip(here, at), color=COLOURS[5], lw=1.2)
            axes.plot(*at, "o", color=COLOURS[0], ms=7)
            axes.annotate(share(weight), at, xytext=(5, 5), textcoords="offset points", fontsize=11)
        if wall:
            axes.plot([4, 4], [0, 8], color="k", lw=4)
    plane.set_title("2D (figure 4.1)", fontsize=9)
    walled.set_title("a wall (figure 4.3)", fontsize=9)
    cell = (3, 3, 3)
    here = np.array(cell) + 0.5
    cube(space, (2, 2, 2), 2.0, color="0.4", lw=1.0)
    cube(space, cell, 1.0, color=COLOURS[4], lw=1.5)
    for coarse, weight in weights_of(cell).items():
        at = 2.0 * np.array(coarse) + 1.0
        cube(space, at - 1.0, 2.0, color="0.8", lw=0.5)
        space.plot(*zip(here, at), color=COLOURS[5], lw=1.2)
        space.plot(*at[:, None], "o", color=COLOURS[0], ms=7)
        space.text(*(at + 0.15), share(weight), fontsize=11)
    space.set_title("3D (figure 4.2)", fontsize=9)
    finish(figure, file)


# -- Aanjaneya, figures 5, 6, 9 and 10 -------------------------------------------------------------------------


def place(face: Face, centre: int = 0) -> tuple[int, np.ndarray]:
    """The component of a face in a box around a face of component `centre`, and where its middle is."""
    role, offset = face
    at = np.empty(3)
    for axis in range(3):
        at[(centre + axis) % 3] = offset[axis] + (0.0 if axis == role else 0.5)
    return (centre + role) % 3, at


def variables(file: Path) -> None:
    """Where velocities and stresses live: on faces, in the middles of cells, and on nodes (2D) or edges (3D)."""
    figure, (plane, space) = panels(2, (1,))
    plane.plot([0, 1, 1, 0, 0], [0, 0, 1, 1, 0], color="0.5", lw=1.0)
    cube(space, (0, 0, 0), 1.0, color="0.5", lw=1.0)
    marks = {"u": (COLOURS[0], ">"), "v": (COLOURS[5], "^"), "w": (COLOURS[2], "D")}
    for axes, d in ((plane, 2), (space, 3)):
        for a in range(d):
            for side in (0.0, 1.0):
                at = np.full(d, 0.5)
                at[a] = side
                colour, mark = marks[NAMES[a]]
                axes.plot(*at[:, None], mark, color=colour, ms=8, ls="none", label=NAMES[a] if side else None)
        axes.plot(*np.full((d, 1), 0.5), "o", color="k", ms=7, ls="none", label="τ along the axes")
        where = [(i, j) for i in (0.0, 1.0) for j in (0.0, 1.0)]
        edges = where if d == 2 else [(*p[:e], 0.5, *p[e:]) for e in range(3) for p in where]
        for k, p in enumerate(edges):
            label = None if k else f"τ between axes ({'nodes' if d == 2 else 'edges'})"
            axes.plot(*np.array(p)[:, None], "s", color=COLOURS[3], ms=6, ls="none", label=label)
        axes.legend(fontsize=7, loc="upper center", bbox_to_anchor=(0.5, 0.02), ncols=2, frameon=False)
        axes.set_title(f"{d}D (figure {d + 3})", fontsize=9)
    finish(figure, file)


def restriction(file: Path) -> None:
    """The weights of the fine faces in one coarse face, read from the transfer: u and v in 2D."""
    fine = ball_in_a_box(64, 2).system
    coarse = Voxels().coarser(fine)
    transfer = FaceTransfer(fine, coarse)
    figure, both = panels(2)
    middle = np.array([6, 6])  # of the coarse faces, in open liquid
    for k, axes in enumerate(both):
        a = fine.grid.axes[k]
        lines(axes, -2, 4, color="0.85", lw=0.6)
        lines(axes, -2, 4, 2, color="0.4", lw=1.0)
        t = a * coarse.P + int(np.ravel_multi_index((1, *(middle + 1)), coarse.grid.padded))
        for i in range(-3, 5):
            for j in range(-3, 5):
                x, out = fine.zeros(fine.dtype), coarse.zeros(coarse.dtype)
                x[a * fine.P + int(np.ravel_multi_index((1, *(2 * middle + 1 + (i, j))), fine.grid.padded))] = 1.0
                weight = float(transfer.restrict(x, out)[t])
                if weight:
                    at = np.array([i, j]) + np.where(np.arange(2) == k, 0.0, 0.5)
                    axes.plot(*at, ">^"[k], color=COLOURS[(0, 5)[k]], ms=4)
                    axes.annotate(share(weight), at, xytext=(3, 3), textcoords="offset points", fontsize=8)
        at = np.where(np.arange(2) == k, 0.0, 1.0)
        axes.plot(*at, "o", mfc="none", mec="k", ms=12)
        axes.set_title(f"{NAMES[k]}: the coarse face (circle) and its fine faces", fontsize=9)
    finish(figure, file)


def boxes(file: Path) -> None:
    """The faces that are solved for together with one face: those of its row, and all in the rectangle around it."""
    figure, (plane, space) = panels(2, (1,), 3.6)
    lines(plane, -2, 2, color="0.8", lw=0.8)
    cube(space, (-1, 0, 0), 2.0, color="0.9", lw=0.6)
    cube(space, (-1, 0, 0), 1.0, color="0.6", lw=0.8)
    cube(space, (0, 0, 0), 1.0, color="0.6", lw=0.8)
    for axes, d in ((plane, 2), (space, 3)):
        # in 2D, the faces of the first two components that are not moved along the third axis
        some = [[f for f in box() if d == 3 or (f[0] < 2 and not f[1][2])] for box in (stencil_box, full_box)]
        for face in some[1]:
            a, at = place(face)
            inside = face in some[0]
            style = {"color": COLOURS[(0, 5, 2)[a]]} if inside else {"mfc": "none", "mec": "0.6"}
            axes.plot(*at[:d, None], ">^D"[a], ms=8 if inside else 4, ls="none", **style)
        axes.plot(*place((0, (0, 0, 0)))[1][:d, None], "o", mfc="none", mec="k", ms=15)
        axes.set_title(f"{d}D: {len(some[0])} faces, {len(some[1])} in the rectangle", fontsize=9)
    finish(figure, file)


DRAWINGS: dict[str, Callable[[Path], None]] = {
    "lai-4": interpolation,
    "aanjaneya-5": variables,
    "aanjaneya-9": restriction,
    "aanjaneya-10": boxes,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=IMAGES, help="where the pictures go")
    parser.add_argument("names", nargs="*", choices=[[], *DRAWINGS], help="only these pictures")
    given = parser.parse_args()
    for name in given.names or DRAWINGS:
        DRAWINGS[name](given.out / f"{name}.png")
        print(f"{name}, {version()}")


if __name__ == "__main__":
    main()
