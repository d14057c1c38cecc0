"""Takahashi–Batty's simulation tables at toy size: rows, published numbers, the figure."""

import pytest

from nonstick.bench import get, tb_simulated


@pytest.fixture(autouse=True)
def short(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tb_simulated, "FRAMES", 3)
    monkeypatch.setattr(tb_simulated, "SAMPLES", 2)


@pytest.mark.slow
@pytest.mark.parametrize(
    "table, methods", [("tb-figure5", ("tagiaamg-cg",)), ("tb-table4", ("ipm-pd+tagiaamg-cg",)), ("tb-table5", ())]
)
def test_tables(table, methods, tmp_path):
    rows = list(get(table).run(get(table).plan((16,), methods)))
    measured = [row for row in rows if "published" not in row.case]
    assert {row.method for row in measured} == set(methods or tb_simulated.FORMULATIONS)
    assert all(row.converged and row.seconds > 0 for row in measured), measured
    assert any("published" in row.case for row in rows)
    assert (tmp_path / f"bench-{table}-16.png").stat().st_size > 1000
