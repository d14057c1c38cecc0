"""All methods find the same pressure: the case `methods-agree` of `nonstick validate`, on small grids."""

import pytest

from nonstick import cases
from nonstick.validation import measures

# Small, and some of them odd; every case of either dimension.
SIZES = {
    2: {"circle2d": 24, "square2d": 21, "maze2d": 32, "obstacle2d": 20, "obstcla2d": 17},
    3: {
        "sphere3d": 12, "sphere-cuboid3d": 13, "double-sphere3d": 14, "box-dam3d": 11, "rotated-box3d": 12,
        "obstacle3d": 10,
    },
}  # fmt: skip


def test_no_case_is_left_out():
    for dimension, sizes in SIZES.items():
        assert set(sizes) == set(cases.names(dimension))


@pytest.mark.parametrize("dimension", SIZES)
@pytest.mark.parametrize("method", measures.methods())
def test_agreement(method, dimension):
    failures = [measures.compare(name, n, method)[1] for name, n in SIZES[dimension].items()]
    assert not any(failures), "\n".join(filter(None, failures))
