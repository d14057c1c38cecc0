"""Table 3 of Aanjaneya: solves taken from running scenes."""

import pytest

from nonstick.bench import get
from nonstick.bench.problems import viscous_snapshots


@pytest.mark.slow
def test_table3_reduces_the_residual_of_the_scenes_by_a_hundred():
    table = get("visc-table3")
    plan = table.plan((24,), ("visc-auto", "visc-cg"), only=("viscous-drop", "body-drop"), frames=2, samples=2)
    rows = list(table.run(plan))
    own = [r for r in rows if "published" not in r.case]
    assert [r.method for r in own] == ["visc-auto", "visc-cg"] * 2
    assert all(r.converged and r.kkt is not None and r.iterations > 0 for r in own)
    assert own[0].iterations <= own[1].iterations and own[2].iterations <= own[3].iterations
    honey = next(r for r in rows if r.case == "visc-table3 honey (published)")  # the paper's rows are all shown
    assert (honey.n, honey.iterations, honey.levels, honey.seconds) == (384, 2, 5, 25.5)


def test_steps_in_free_fall_are_left_out():
    assert list(viscous_snapshots("varying-block", 20, 1)) == []
