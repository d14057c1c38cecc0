import numpy as np
import pytest

from nonstick import NonstickError
from nonstick.parallel.halo import Boxes

SHAPE = (40, 24, 32)


def ball(shape):
    """Liquid in one corner."""
    i, j, k = np.ogrid[tuple(map(slice, shape))]
    return i * i + j * j + k * k < 20 * 20


def test_boxes_cover_every_cell_once_and_know_its_owner():
    for parts in (1, 2, 3, 5, 8):
        boxes = Boxes.regular(SHAPE, parts, align=4)
        owner = np.full(SHAPE, -1)
        for rank, box in enumerate(boxes.boxes):
            assert (owner[tuple(map(slice, box.low, box.high))] == -1).all()
            owner[tuple(map(slice, box.low, box.high))] = rank
            assert all(l % 4 == 0 for l in box.low)
        cells = np.argwhere(owner >= 0)
        assert len(cells) == owner.size
        np.testing.assert_array_equal(boxes.owner(cells), owner.ravel())


@pytest.mark.parametrize("parts", [2, 3, 4, 7])
def test_boxes_have_about_equal_liquid(comm, parts):
    first = Boxes.regular(SHAPE, comm.size)
    own = first[comm.rank]
    liquid = ball(SHAPE)
    cells = np.argwhere(liquid[tuple(map(slice, own.low, own.high))]) + np.array(own.low)
    boxes = Boxes.by_cells(comm, SHAPE, cells, parts=parts)
    counts = [np.count_nonzero(liquid[tuple(map(slice, b.low, b.high))]) for b in boxes.boxes]
    assert sum(counts) == np.count_nonzero(liquid)
    assert max(counts) < 1.3 * np.mean(counts)
    volumes = [np.count_nonzero(liquid[tuple(map(slice, b.low, b.high))]) for b in Boxes.regular(SHAPE, parts).boxes]
    assert max(counts) < max(volumes)
    assert len({tuple(b) for b in comm.gathered(boxes.boxes)}) == 1


def test_coarse_boxes_hold_the_blocks_of_the_fine_ones():
    boxes = Boxes.regular((13, 16), 4, align=4)
    coarse = boxes.coarse(4)
    assert coarse.shape == (4, 4)
    cells = np.argwhere(np.ones((13, 16), bool))
    np.testing.assert_array_equal(coarse.owner(cells // 4), boxes.owner(cells))
    with pytest.raises(NonstickError, match="aligned to 4"):
        boxes.coarse(8)


def test_too_many_ranks_are_refused():
    with pytest.raises(NonstickError, match="too small for so many ranks"):
        Boxes.regular((8, 8), 5, align=4)
