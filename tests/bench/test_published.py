"""Numbers of the papers, spot-checked against their text."""

import pytest

from nonstick import registry
from nonstick.bench import published


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
    assert published.ITERATIONS[table][n][method] == count


def test_outer_iterations_and_seconds_of_lai():
    assert published.OUTER["lai-table1"][256]["pe-mg"] == 1.63
    assert published.OUTER["lai-table2"][128]["newton"] == 2.91
    assert published.SECONDS["lai-table1"][256]["newton"] == 2.59
    assert published.SECONDS["lai-table2"][256]["fmg"] == 510.71
    assert published.SECONDS["lai-table7"][128]["pi-mg"] == 0.7


def test_what_was_not_run_has_no_number():
    assert "newton" not in published.ITERATIONS["lai-table2"][256]
    assert "newton" not in published.OUTER["lai-table2"][256]
    assert "no-lcp" not in published.ITERATIONS["lai-table7"][32]
    assert set(published.DIVERGED["lai-table12"]) == {
        (n, m) for n in (128, 256) for m in ("fas-mg+simple-boundary", "fas-mg+direct")
    }


def test_tables_are_complete():
    sizes = {table: tuple(rows) for table, rows in published.ITERATIONS.items()}
    assert all(
        rows == ((32, 64, 128) if table == "lai-table7" else (32, 64, 128, 256)) for table, rows in sizes.items()
    )
    for rows in published.SECONDS.values():
        assert all(len(row) >= 7 for row in rows.values())


def test_other_papers():
    assert published.CM_TABLE1["rotated-box"] == (128, 109.78, 122.97)
    assert round(100 * (21.26 / 19.00 - 1), 2) == 11.89 and published.CM_TABLE1["ball-box"] == (64, 19.00, 21.26)
    assert published.ANDERSEN_TABLE1 == {64: 15, 128: 25, 256: 15, 512: 16, 1024: 5}


def test_every_method_is_one_of_ours():
    names = {m for rows in published.ITERATIONS.values() for row in rows.values() for m in row}
    assert names <= set(registry.methods())
