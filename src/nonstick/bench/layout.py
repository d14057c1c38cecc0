"""Tables on screen in the layout of Lai's tables: a row per size, a column per method."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rich import box
from rich.console import Console
from rich.table import Table

from .row import Row


def print_tables(rows: Sequence[Row], console: Console) -> None:
    """Iterations, outer iterations and seconds of each case; below them what a dash or a '>' means."""
    for case in dict.fromkeys(row.case for row in rows):
        of_case = [row for row in rows if row.case == case]
        _print("iterations", of_case, lambda row: _count(row, row.iterations), console)
        _print("outer iterations", of_case, lambda row: _count(row, row.outer_iterations), console)
        _print("seconds", of_case, lambda row: "-" if row.seconds is None else f"{row.seconds:.3g}", console)
        if any(row.nonzeros is not None for row in of_case):
            _print("non-zeros", of_case, lambda row: "-" if row.nonzeros is None else f"{row.nonzeros:,}", console)
    for line in _reasons(rows):
        console.print(line, markup=False, highlight=False)


def _count(row: Row, value: float | None) -> str:
    if value is None:
        return "-"
    return str(value) if row.converged else f">{value}"


def _print(title: str, rows: Sequence[Row], show: Callable[[Row], str], console: Console) -> None:
    sizes = list(dict.fromkeys(row.n for row in rows))
    unknowns = {row.n: row.unknowns for row in rows if row.unknowns is not None}
    cells = {(row.n, row.method): show(row) for row in rows}
    methods = list(dict.fromkeys(row.method for row in rows))
    for group in _groups(methods, cells, console.width):
        heading = f"{rows[0].case}: {title}"
        table = Table(title=heading, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False)
        table.add_column("size", justify="right", no_wrap=True)
        table.add_column("unknowns", justify="right", no_wrap=True)
        for method in group:
            table.add_column(method, justify="right", no_wrap=True)
        for n in sizes:
            table.add_row(str(n), str(unknowns.get(n, "-")), *(cells.get((n, method), "") for method in group))
        console.print(table)


def _groups(methods: list[str], cells: dict[tuple[int, str], str], width: int) -> list[list[str]]:
    """The columns in groups that fit the screen, because a cut-off number is worse than a second table."""
    room = width - 22
    groups: list[list[str]] = [[]]
    used = 0
    for method in methods:
        need = 2 + max([len(method), *(len(text) for (_, name), text in cells.items() if name == method)])
        if groups[-1] and used + need > room:
            groups.append([])
            used = 0
        groups[-1].append(method)
        used += need
    return groups


def _reasons(rows: Sequence[Row]) -> list[str]:
    told: dict[str, list[str]] = {}
    for row in rows:
        if row.reason is not None:
            sign = "-" if row.iterations is None else ">"
            told.setdefault(f"{sign} {row.method}: {row.reason}", []).append(str(row.n))
    return [f"{text} (size {', '.join(sizes)})" for text, sizes in told.items()]
