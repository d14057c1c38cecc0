"""Andersen's tables at a toy size."""

import gc

import pytest

from nonstick.bench import get
from nonstick.bench.tables import tables
from nonstick.errors import NonstickError


@pytest.mark.slow
@pytest.mark.parametrize("name", ["andersen-linear", "andersen-newton", "andersen-xi"])
def test_every_cell_of_the_table_converges(name, monkeypatch, tmp_path):
    monkeypatch.setattr(gc, "collect", lambda: 0)  # only memory figures need it, and it is most of the time
    entry = get(name)
    rows = list(entry.run(entry.plan((12,), folder=tmp_path)))
    assert all(row.converged for row in rows), [row for row in rows if not row.converged]
    assert len({(row.case, row.method) for row in rows}) == len(rows)
    if name == "andersen-linear":
        assert len(rows) == 4 * 9  # sub-solvers and preconditioners
    if name == "andersen-xi":
        assert [row.method for row in rows] == list(tables()[name].parts[0].compositions)


def test_other_methods_are_refused():
    entry = get("andersen-xi")
    with pytest.raises(NonstickError, match="own methods"):
        list(entry.run(entry.plan((12,), ("newton",))))
