"""A Stokes step of many ranks is that of one process, to the bit."""

import numpy as np
import pytest

from nonstick.discretise import StokesProblem
from nonstick.mpi.viscous import solve_on_first
from nonstick.parallel.halo import Boxes
from nonstick.parallel.partition import Partition


def fields(shape):
    """A tank with a wavy surface and rough flow, as arguments of `StokesProblem`; the same on all ranks."""
    rng, d = np.random.default_rng(5), len(shape)
    x = np.stack(np.meshgrid(*[np.arange(n) + 0.5 for n in shape], indexing="ij"))
    phi = x[1] - 0.6 * shape[1] + np.cos(x[0])
    velocity = tuple(rng.normal(size=[n + (a == b) for b, n in enumerate(shape)]) for a in range(d))
    weights = tuple(np.ones(v.shape) for v in velocity)
    for axis, w in enumerate(weights):
        w[(slice(None),) * axis + ([0, -1],)] = 0.0
    return {
        "phi_liquid": phi, "velocity": velocity, "weights": weights, "viscosity": rng.uniform(0.5, 2.0, shape),
        "walls": "cut", "dt": 1.0, "dx": 1.0, "rho": 1.0, "adhesion": None,
    }  # fmt: skip


def solve(given):
    return StokesProblem(**given).solve("stokes-direct")


@pytest.mark.parametrize("shape", [(16, 12), (8, 8, 6)])
def test_the_step_of_ranks_is_that_of_one_process(comm, shape):
    whole = fields(shape)
    part = Partition(comm, Boxes.regular(shape, comm.size, 2), 1.0, 2)

    def here(value):
        return np.ascontiguousarray(part.held.part(value, shape))

    given = {name: here(v) if isinstance(v, np.ndarray) else v for name, v in whole.items()}
    given |= {name: tuple(map(here, whole[name])) for name in ("velocity", "weights")}
    if comm.rank == comm.size - 1:
        given["adhesion"] = np.zeros(part.held.shape)  # a field that the other ranks do not have
    found, alone = solve_on_first(part, given, solve), solve(whole)
    assert found.converged and found.separates == alone.separates == np.any(alone.contact < 0)
    assert (found.unknowns, found.kkt(), found.bodies) == (alone.unknowns, alone.kkt(), [])
    for mine, true in zip(
        (*found.velocity, found.pressure, found.contact), (*alone.velocity, alone.pressure, alone.contact)
    ):
        np.testing.assert_array_equal(mine, here(true))


def test_what_the_first_rank_cannot_solve_is_one_sentence_on_all(comm):
    from nonstick import NonstickError

    part = Partition(comm, Boxes.regular((8, 8), comm.size, 2), 1.0, 2)
    given = {"phi_liquid": -np.ones(part.held.shape), "walls": "none", "weights": ()}

    def fails(_):
        raise NonstickError("no solution")

    with pytest.raises(NonstickError, match="no solution"):
        solve_on_first(part, given, fails)
