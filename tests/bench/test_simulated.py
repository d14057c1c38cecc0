"""Tables over simulations, on sizes that take seconds."""

import pytest

from nonstick.bench import get
from nonstick.bench import simulated as tables


@pytest.fixture(autouse=True)
def short(monkeypatch, tmp_path):
    monkeypatch.setattr(tables, "FRAMES", 3)
    monkeypatch.setattr(tables, "SAMPLES", 2)
    monkeypatch.chdir(tmp_path)  # figures are written where the command runs


def test_averages_stand_beside_the_published_ones(tmp_path):
    entry = get("lai-table1")
    rows = list(entry.run(entry.plan((16, 32), ("auto", "fas-mg"))))
    published = {(r.n, r.method): r for r in rows if "published" in r.case}
    ours = {(r.n, r.method): r for r in rows if "published" not in r.case}
    assert published[32, "fas-mg"].iterations == 7.45 and published[32, "pi-mg"].outer_iterations == 1.12
    assert set(ours) == {(n, m) for n in (16, 32) for m in ("auto", "fas-mg")}
    assert all(r.converged and r.iterations > 0 and r.kkt <= 1e-6 for r in ours.values())
    assert (tmp_path / "bench-lai-table1-16.png").exists()


def test_single_solves_are_of_the_named_frame(tmp_path):
    problem = tables._first_of("circle", 16, 2)
    assert problem.dt == pytest.approx(1 / 60)
    assert problem.rows.n > 20
    fresh = tables._again(problem)()
    assert fresh.n == problem.rows.n and fresh is not problem.problem


def test_every_table_is_registered():
    for name in ("lai-table2", "lai-table7", "lai-table9", "lai-table10", "lai-table11", "lai-table12", "cm-table1",
                 "andersen-table1", "andersen-volume"):  # fmt: skip
        assert get(name).description
