"""Small random systems shared by the tests of linear solvers and preconditioners."""

import numpy as np
import pytest

from nonstick.operators.csr import CSROperator
from nonstick.operators.masked import Masked
from nonstick.operators.rows import Rows
from nonstick.operators.stencil import StencilOperator


def random_stencil(shape, seed=0, fill=0.8, neumann=False) -> StencilOperator:
    """A stencil operator on a ragged random subset of a box, with weights of very different size."""
    rng = np.random.default_rng(seed)
    rows = Rows.from_mask(rng.random(shape) < fill)
    right = rows.neighbours()
    weights = tuple(np.where(right[:, a] >= 0, rng.uniform(0.05, 2.0, rows.n), 0.0) for a in range(3))
    diagonal = np.zeros(rows.n) if neumann else rng.uniform(0.0, 0.2, rows.n) + 1e-3
    for a in range(3):
        linked = np.flatnonzero(right[:, a] >= 0)
        np.add.at(diagonal, linked, weights[a][linked])
        np.add.at(diagonal, right[linked, a], weights[a][linked])
    return StencilOperator(rows, weights, diagonal)


def forms(shape=(6, 7, 5), seed=0) -> dict:
    """The same kind of system as stencil, CSR, and each of them masked and shifted."""
    rng = np.random.default_rng(seed + 100)
    A = random_stencil(shape, seed)
    free, shift = rng.random(A.n) < 0.7, rng.uniform(0.0, 3.0, A.n)
    C = CSROperator(A.matrix())
    return {
        "stencil": A,
        "csr": C,
        "masked-stencil": Masked(A, free, shift),
        "masked-csr": Masked(C, free, shift),
        "shifted": Masked(A, None, shift),
    }


@pytest.fixture
def make_stencil():
    return random_stencil


@pytest.fixture(params=["stencil", "csr", "masked-stencil", "masked-csr", "shifted"])
def operator(request):
    return forms()[request.param]


@pytest.fixture(params=[(9, 11), (5, 4, 6), (1, 7), (1, 1)], ids=str)
def grid_shape(request):
    return request.param


def tank(d=2, n=32, ratio=0.01, count=2, walls="none", depth=0.7):
    """Tilted boxes under water in a tank; first step of gravity."""
    from nonstick import PressureProblem
    from nonstick.discretise.coupling import Body
    from nonstick.grid.mac import Grid
    from nonstick.grid.shapes import Box

    grid = Grid.unit(n, d)
    bodies = []
    for k in range(count):
        c = np.array([0.28 + 0.45 * k, 0.36, 0.5][:d]) + 0.013
        size = np.array([0.3, 0.26, 0.3][:d])
        box = Box(tuple(c - size / 2), tuple(c + size / 2)).rotate(0.3, centre=tuple(c))
        pull = np.zeros(d)
        pull[1] = -0.0981
        bodies.append(Body(box.sample(grid.nodes()), c, pull, 0.0, 1000.0 * ratio))
    velocity = [np.zeros(grid.face_shape(a)) for a in range(d)]
    velocity[1] -= 0.0981
    phi = np.broadcast_to(grid.cells()[1] - depth, grid.shape)
    return PressureProblem(phi_liquid=phi, velocity=velocity, dt=0.01, dx=grid.dx, walls=walls, bodies=bodies)


@pytest.fixture
def make_tank():
    return tank
