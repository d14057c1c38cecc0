"""Tables on screen: the paper's lines below ours, no columns and tables without content."""

import re

from rich.console import Console

from nonstick.bench import Row
from nonstick.bench.row import print_tables


def page(*rows):
    console = Console(record=True, width=120, force_terminal=False)
    print_tables(rows, console)
    return console.export_text()


def published(n, method, **figures):
    return Row("t (published)", n, None, method, converged=True, **figures)


def ours(n, method, **figures):
    return Row("t", n, 10 * n, method, converged=True, **figures)


def test_the_papers_line_follows_ours():
    text = page(
        published(32, "a", iterations=7.5),
        published(64, "a", iterations=8.5),
        ours(32, "a", iterations=9, outer_iterations=2),
        ours(32, "b", iterations=4, outer_iterations=4),
    )
    lines = [line.split() for line in text.splitlines()]
    at = lines.index(["32", "ours", "320", "9", "4"])
    assert lines[at + 1 : at + 3] == [["32", "paper", "7.5"], ["64", "paper", "8.5"]]
    assert "(published)" not in text
    # the paper has no outer iterations, so it has no line there
    assert text.count("paper") == 2 and text.count("t: outer iterations") == 1


def test_one_loop_needs_one_table():
    text = page(
        ours(8, "a", iterations=5, outer_iterations=5, seconds=0.25), ours(8, "b", iterations=5, outer_iterations=1)
    )
    assert "outer" not in text and "t: seconds" in text and "0.25" in text


def test_figures_of_other_kinds_have_tables_of_their_own():
    text = page(
        published(8, "a", extra={"slower by %": 12.0}),
        ours(8, "a", extra={"slower by %": -3.25}),
        ours(8, "b", iterations=3),
    )
    assert "t: slower by %" in text and "-3.25" in text and "12" in text
    below = text[text.index("t: slower by %") :]
    assert not re.search(r"\bb\b", below)  # no row has that number


def test_published_rows_without_a_measured_case_stand_alone():
    text = page(published(8, "a", iterations=5), Row("t corridors", 8, 80, "a", 6, 6, converged=True))
    assert "t (published): iterations" in text and "t corridors: iterations" in text


def test_a_long_title_is_not_broken_to_the_width_of_its_table():
    text = page(Row("a case with a very long name", 8, 80, "a", 6, 6, converged=True))
    assert "a case with a very long name: iterations" in text


def test_no_heading_is_cut_off_at_any_width():
    names = ["a", "psor", "mic-mprgp", "saamg-mprgp", "tagiaamg-mprgp", "ipm-pd+tagiaamg-cg", "fas-mg", "pi-mg+literal"]
    for width in range(60, 160, 7):
        console = Console(record=True, width=width, force_terminal=False)
        print_tables([ours(64, name, iterations=1000) for name in names], console)
        text = console.export_text()
        assert "…" not in text and all(name in text for name in names), width


def test_columns_that_are_different_problems_have_no_common_number_of_unknowns():
    text = page(ours(8, "a", iterations=5), Row("t", 8, 81, "b", 6, converged=True), ours(16, "a", iterations=7))
    lines = [line.split() for line in text.splitlines()]
    assert ["8", "various", "5", "6"] in lines and ["16", "160", "7"] in lines


def test_a_fallback_is_marked_and_explained():
    text = page(ours(8, "a", iterations=5, finished_by="CG"), ours(8, "b", iterations=6))
    assert "5*" in text and "6*" not in text and "* a: finished by CG (size 8)" in text
