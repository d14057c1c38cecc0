"""The viscosity tables: the paper's counts, and what they must show."""

import pytest

from nonstick.bench import get
from nonstick.bench.problems import ball


def rows(name, sizes, methods, **options):
    benchmark = get(name)
    return list(benchmark.run(benchmark.plan(sizes, methods, **options)))


def test_unknowns_of_the_test_problem():
    assert ball(256, 2).n == pytest.approx(57_341, rel=4e-3)


@pytest.mark.slow
def test_table_has_published_and_measured_rows(tmp_path):
    found = rows("visc-table1", (96,), ("visc-box-mg", "visc-jacobi-mg+cg"), folder=tmp_path)
    assert (tmp_path / "bench-visc-table1.png").stat().st_size > 10_000
    published = [r for r in found if r.case.endswith("(published)")]
    assert {r.method for r in published} >= {"visc-box-mg", "visc-cg", "visc-direct"}
    measured = {r.method: r for r in found if r.case.endswith("= 0.001")}
    assert all(r.converged for r in measured.values())
    box, jacobi = measured["visc-box-mg"], measured["visc-jacobi-mg+cg"]
    assert box.iterations <= 6
    assert jacobi.iterations >= 2 * box.iterations
    assert box.levels == 2 and box.n == 96


def test_profile_counts_iterations_to_each_digit():
    found = rows("visc-profile", (64,), ("visc-auto",))
    flat = [r.iterations for r in found if "2D" in r.case]
    assert len(flat) == 6 and flat == sorted(flat)


@pytest.mark.slow
def test_jumps_cost_at_most_three_times_the_iterations():
    found = {r.case: r.iterations for r in rows("visc-jump", (48,), ("visc-auto",))}
    assert len(found) == 14
    for d in "23":
        constant = found[f"visc-jump {d}D constant"]
        assert max(n for case, n in found.items() if f"{d}D" in case) <= 3 * constant
