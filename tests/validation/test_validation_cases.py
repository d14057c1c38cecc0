"""What every case of `nonstick validate` must have."""

import re

import numpy as np
import pytest

from nonstick import NonstickError
from nonstick.validation import Published, experiments

CASES = experiments()


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_case_is_complete(case):
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", case.name)
    assert case.title and case.citation and case.published and case.quick
    assert len({p.key for p in case.published}) == len(case.published)
    grids = {size.cells for size in case.full if size.steps == 1}
    assert len(grids) >= 3, "three grids"
    assert case.timeless or any(size.steps > 1 and size.cells in grids for size in case.full), (
        "two steps on one of them"
    )


def test_error_is_relative_to_the_scale():
    speed = Published("v", "speed", 0.0, 0.01, scale=2.0, quick=0.1)
    assert speed.error(0.1) == 0.05
    assert not speed.passes(0.1) and speed.passes(0.1, full=False)
    assert not speed.passes(np.nan)
    with pytest.raises(NonstickError, match="scale"):
        Published("v", "speed", 0.0, 0.01)
