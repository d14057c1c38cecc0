"""What every case of `nonstick validate` must have, and the formulas behind published numbers."""

import math
import re

import numpy as np
import pytest

from nonstick import NonstickError
from nonstick.validation import Published, experiments, measures

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


def test_exact_numbers_are_those_of_their_formulas():
    """The files hold numbers; these are the formulas that they say they come from."""
    k, depth, speed = 2 * math.pi, 0.7, 0.3
    frequency = math.sqrt(9.81 * k * math.tanh(k * depth))
    ratio = 0.2
    slow = (
        -math.log(ratio) - 0.9157 + sum(c * ratio**p for c, p in ((1.7244, 2), (-1.7302, 4), (2.4056, 6), (-4.5913, 8)))
    )
    bore, behind = measures.stoker()
    for case, key, value in (
        ("slosh", "period", 2 * math.pi / math.sqrt(9.81 * math.pi * math.tanh(0.5 * math.pi))),
        ("standing-wave", "period", 2 * math.pi / frequency * (1 + (k * speed / frequency) ** 2 / 8)),
        ("u-tube", "period", measures.SWING),
        ("stoker", "speed", bore),
        ("stoker", "depth", behind),
        ("faxen", "speed", 1e3 * 200.0 * 9.81 * 0.02**2 * slow / (4 * 10.0)),
        ("ten-cate-e2", "peak", 0.953 * 60.0),
        ("ten-cate-e4", "peak", 0.955 * 128.0),
    ):
        found = {p.key: p.value for p in CASES[case].published}
        assert found[key] == pytest.approx(value, rel=1e-12), case


def test_every_case_says_what_it_is_about():
    assert all(case.about for case in CASES.values())
