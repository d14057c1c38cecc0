"""Numbers of the papers, spot-checked against their text."""

import pytest

from nonstick import registry
from nonstick.bench.tables import published, tables


def rows_of(table):
    """(size, method) → the row that the paper prints."""
    return {(row.n, row.method): row for row in published(table)}


LAI = [name for name in tables() if name.startswith("lai")]


@pytest.mark.parametrize(
    "table, n, method, count",
    [
        ("lai-table1", 32, "fas-mg", 7.45),
        ("lai-table1", 256, "newton", 2283.65),
        ("lai-table1", 128, "fmg", 65.37),
        ("lai-table2", 64, "pe-pcg", 71.34),
        ("lai-table2", 256, "no-lcp", 100.78),
        ("lai-table2", 128, "newton", 10879.01),
        ("lai-table7", 128, "fas-mg", 5.83),
        ("lai-table7", 64, "newton", 195.5),
        ("lai-table9", 128, "pi-pcg", 593),
        ("lai-table9", 256, "fmg", 234),
        ("lai-table10", 256, "pe-mg", 89),
        ("lai-table10", 64, "newton", 11122),
        ("lai-table11", 64, "fas-mg", 15),
        ("lai-table11", 256, "newton", 122080),
        ("lai-table12", 256, "fas-mg+pwc", 616),
        ("lai-table12", 64, "fas-mg+direct", 171),
    ],
)
def test_iterations_of_lai(table, n, method, count):
    assert rows_of(table)[n, method].iterations == count


def test_outer_iterations_and_seconds_of_lai():
    one, two, seven = (rows_of(f"lai-table{k}") for k in (1, 2, 7))
    assert one[256, "pe-mg"].outer_iterations == 1.63 and two[128, "newton"].outer_iterations == 2.91
    assert one[256, "newton"].seconds == 2.59 and two[256, "fmg"].seconds == 510.71
    assert seven[128, "pi-mg"].seconds == 0.7


def test_what_was_not_run_has_no_number():
    assert (256, "newton") not in rows_of("lai-table2") and (32, "no-lcp") not in rows_of("lai-table7")
    diverged = {place for place, row in rows_of("lai-table12").items() if row.reason == "the paper: diverged"}
    assert diverged == {(n, m) for n in (128, 256) for m in ("fas-mg+simple-boundary", "fas-mg+direct")}
    assert not any(rows_of("lai-table12")[place].must_converge for place in diverged)


@pytest.mark.parametrize("table", LAI)
def test_tables_are_complete(table):
    sizes = (32, 64, 128) if table == "lai-table7" else (32, 64, 128, 256)
    assert tuple(dict.fromkeys(n for n, _ in rows_of(table))) == sizes
    if table in ("lai-table1", "lai-table2", "lai-table7"):
        assert all(row.seconds is not None for row in rows_of(table).values())


def test_other_papers():
    cm = rows_of("cm-table1")
    assert (cm[128, "rotated-box"].seconds, cm[128, "rotated-box LCP"].seconds) == (0.10978, 0.12297)
    for scene, n in (("ball-box", 64), ("dam-break-box", 64), ("rotated-box", 128), ("dam-break-sphere", 128)):
        slower = 100 * (cm[n, f"{scene} LCP"].seconds / cm[n, scene].seconds - 1)
        assert cm[n, f"{scene} LCP"].extra == {"LCP slower by %": round(slower, 2)} and not cm[n, scene].extra
    andersen = {row.n: row.extra["LCP slower by %"] for row in published("andersen-table1")}
    assert andersen == {64: 15, 128: 25, 256: 15, 512: 16, 1024: 5}
    assert rows_of("tb-table4")[128, "saamg-mprgp"].seconds == 23.87 / 2.4  # printed: seconds and substeps a frame


def test_nonzeros_are_the_sum_of_what_is_printed():
    assert all(row.nonzeros == sum(row.extra.values()) for row in published("tb-table1"))


def test_every_method_is_one_of_ours():
    assert {method for table in LAI for _, method in rows_of(table)} <= set(registry.methods())
