"""Connected parts of masks, beside those of SciPy."""

import numpy as np
import pytest
from scipy.ndimage import label

from nonstick.grid.fractions import connected_parts


@pytest.mark.parametrize("shape", [(1, 1), (17, 12), (1, 30), (9, 8, 7), (1, 6, 5), (5, 1, 9)])
@pytest.mark.parametrize("share", [0.0, 0.3, 0.5, 0.62, 0.8, 1.0])
def test_parts_are_those_of_scipy(shape, share):
    mask = np.random.default_rng(3).random(shape) < share
    ours, count = connected_parts(mask)
    theirs, number = label(mask)
    assert count == number
    np.testing.assert_array_equal(ours, theirs)


def test_a_slice_of_an_array_is_labelled_like_its_copy():
    mask = np.random.default_rng(4).random((20, 18, 6)) < 0.5
    np.testing.assert_array_equal(connected_parts(mask[::2, :, 1:4])[0], label(mask[::2, :, 1:4])[0])
