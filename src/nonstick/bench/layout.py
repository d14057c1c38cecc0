"""Tables on screen in the layout of Lai's tables: a row per size, a column per method.

Rows of a case "X (published)" are the paper's: they appear in the tables of X, below our rows of the same size. A case
that begins with X, like "X corridors", is another problem. Without a case X, the published rows are separate tables.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rich import box
from rich.console import Console
from rich.table import Table

from .row import Row

PUBLISHED = " (published)"


def print_tables(rows: Sequence[Row], console: Console) -> None:
    """Print iterations, outer iterations, seconds and other numbers of each case, then the meaning of -, > and *."""
    measured = {row.case for row in rows if not row.case.endswith(PUBLISHED)}
    for case in dict.fromkeys(row.case for row in rows):
        base = case.removesuffix(PUBLISHED)
        if base != case and base in measured:
            continue  # shown with ours
        ours = [row for row in rows if row.case == case]
        paper = [row for row in rows if base == case and row.case == case + PUBLISHED]
        for title, show, always in _quantities(ours + paper):
            if always or any(show(row) != "-" for row in ours + paper):
                _print(f"{case}: {title}", ours, paper, show, console)
    for line in _reasons(rows):
        console.print(line, markup=False, highlight=False)


def _quantities(rows: Sequence[Row]) -> list[tuple[str, Callable[[Row], str], bool]]:
    """Title, the text of a row, and True if it is shown even if no row has it (so that reasons have a table)."""
    nothing = not any(row.extra for row in rows)
    out: list[tuple[str, Callable[[Row], str], bool]] = [
        ("iterations", lambda row: _count(row, row.iterations), nothing),
        ("outer iterations", lambda row: _count(row, row.outer_iterations), False),
        ("seconds", lambda row: _number(row.seconds), False),
        ("non-zeros", lambda row: "-" if row.nonzeros is None else f"{row.nonzeros:,}", False),
    ]
    if all(row.outer_iterations in (None, 1, row.iterations) for row in rows):
        del out[1]  # methods with one loop only: outer iterations are all one, or equal to iterations
    keys = dict.fromkeys(key for row in rows for key in row.extra)
    return out + [(key, lambda row, key=key: _number(row.extra.get(key), signs=4), False) for key in keys]


def _count(row: Row, value: float | None) -> str:
    if value is None:
        return "-"
    mark = "*" if row.finished_by else ""
    return f"{value}{mark}" if row.converged else f">{value}{mark}"


def _number(value: float | None, signs: int = 3) -> str:
    return "-" if value is None else f"{value:.{signs}g}"


def _print(title: str, ours: Sequence[Row], paper: Sequence[Row], show: Callable[[Row], str], console: Console) -> None:
    sizes = sorted({row.n for row in (*ours, *paper)}) if paper else list(dict.fromkeys(row.n for row in ours))
    counts: dict[int, set[int]] = {}
    for row in ours:
        if row.unknowns is not None:
            counts.setdefault(row.n, set()).add(row.unknowns)
    # columns of one table may be different problems
    unknowns = {n: str(*of) if len(of) == 1 else "various" for n, of in counts.items()}
    cells = {(row.n, row.method, source): show(row) for source, rows in enumerate((ours, paper)) for row in rows}
    methods = list(dict.fromkeys(row.method for row in (*ours, *paper)))
    if paper:  # a column without any number is omitted
        methods = [m for m in methods if any(text != "-" for (_, name, _), text in cells.items() if name == m)]
    own = {row.n for row in ours}
    for group in _groups(methods, cells, console.width - (8 if paper else 0)):
        # the title is printed separately: a narrow table would break its own title into lines
        console.print(f"[bold italic]{title}[/]", highlight=False, soft_wrap=True)
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
        table.add_column("size", justify="right", no_wrap=True)
        if paper:
            table.add_column("", no_wrap=True)
        table.add_column("unknowns", justify="right", no_wrap=True)
        for method in group:
            table.add_column(method, justify="right", no_wrap=True)
        for n in sizes:
            for source, name in enumerate(("ours", "paper")):
                values = [cells.get((n, method, source), "") for method in group]
                if any(cells.get((n, method, source), "-") != "-" for method in methods) or (source == 0 and n in own):
                    known = unknowns.get(n, "-") if source == 0 else ""
                    marks = (name,) if paper else ()
                    table.add_row(str(n), *marks, known, *values, style="dim" if source else None)
        console.print(table)


def _groups(methods: list[str], cells: dict[tuple[int, str, int], str], width: int) -> list[list[str]]:
    """The columns in groups that fit the screen, because a cut-off number is worse than a second table."""
    room = width - 22
    groups: list[list[str]] = [[]]
    used = 0
    for method in methods:
        need = 3 + max([len(method), *(len(text) for (_, name, _), text in cells.items() if name == method)])
        if groups[-1] and used + need > room:
            groups.append([])
            used = 0
        groups[-1].append(method)
        used += need
    return groups


def _reasons(rows: Sequence[Row]) -> list[str]:
    told: dict[str, list[str]] = {}
    for row in rows:
        if row.finished_by:
            told.setdefault(f"* {row.method}: finished by {row.finished_by}", []).append(str(row.n))
        if row.reason is not None:
            sign = "-" if row.iterations is None else " " if row.converged else ">"
            told.setdefault(f"{sign} {row.method}: {row.reason}", []).append(str(row.n))
    return [f"{text} (size {', '.join(dict.fromkeys(sizes))})" for text, sizes in told.items()]
