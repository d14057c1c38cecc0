"""Takahashi–Batty's simulation tables at toy size: rows, published numbers, the figure."""

import pytest

from nonstick.bench import get


@pytest.mark.slow
@pytest.mark.parametrize(
    "table, methods", [("tb-figure5", ("tagiaamg-cg",)), ("tb-table4", ("ipm-pd+tagiaamg-cg",)), ("tb-table5", ())]
)
def test_tables(table, methods, tmp_path):
    rows = list(get(table).run(get(table).plan((16,), methods, frames=3, samples=2, folder=tmp_path)))
    measured = [row for row in rows if "published" not in row.case]
    assert {row.method for row in measured} == set(methods or get(table).parts)
    assert all(row.converged and row.seconds > 0 for row in measured), measured
    assert any("published" in row.case for row in rows)
    assert (tmp_path / f"bench-{table}-16.png").stat().st_size > 1000
