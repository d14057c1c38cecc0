import numpy as np
import pytest

from nonstick import NonstickError
from nonstick.parallel import launch


def test_sums_and_maxima(comm):
    ranks = np.arange(comm.size)
    assert comm.total(comm.rank + 1) == (ranks + 1).sum()
    np.testing.assert_array_equal(comm.total(np.array([1.0, comm.rank])), [comm.size, ranks.sum()])
    assert comm.largest(-float(comm.rank)) == 0.0
    assert np.isnan(comm.largest(np.nan if comm.rank == comm.size - 1 else 1.0))
    assert comm.any(comm.rank == comm.size - 1)
    assert not comm.any(False)


def test_a_sum_has_the_same_bits_on_every_rank(comm):
    value = comm.total(np.random.default_rng(comm.rank).standard_normal(5) * 10.0 ** np.arange(-8, 12, 4))
    assert len({v.tobytes() for v in comm.gathered(value)}) == 1


def test_pieces_reach_the_ranks_they_are_sent_to(comm):
    """Every rank sends r + 1 rows to rank r, and nothing to the last one unless that is itself."""
    last = comm.size - 1
    pieces = {r: np.full((r + 1, 2), 10.0 * comm.rank + r) for r in range(comm.size) if r != last or comm.rank == last}
    got = comm.swapped(pieces)
    assert list(got) == ([last] if comm.rank == last else list(range(comm.size)))
    for sender, piece in got.items():
        np.testing.assert_array_equal(piece, np.full((comm.rank + 1, 2), 10.0 * sender + comm.rank))


def test_arrays_are_joined_in_the_order_of_ranks(comm):
    joined = comm.joined(np.full((comm.rank, 3), comm.rank, np.float32))
    np.testing.assert_array_equal(joined[:, 1], np.repeat(np.arange(comm.size), np.arange(comm.size)))


def test_the_error_of_one_rank_is_raised_on_all(comm):
    with pytest.raises(NonstickError, match="no water"), comm.same_outcome():
        if comm.rank == comm.size - 1:
            raise NonstickError("no water")
    with comm.same_outcome():
        pass


@pytest.mark.parametrize(
    "environment, ranks",
    [
        ({}, 1),
        ({"OMPI_COMM_WORLD_SIZE": "3"}, 3),
        ({"PMI_SIZE": "8"}, 8),
        ({"SLURM_STEP_NUM_TASKS": "4"}, 1),
        ({"SLURM_STEP_NUM_TASKS": "4", "PMIX_RANK": "0"}, 4),
    ],
)
def test_the_launcher_is_recognised(environment, ranks):
    assert launch.ranks(environment) == ranks
