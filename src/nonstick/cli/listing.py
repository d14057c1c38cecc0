"""`nonstick methods` and `nonstick cases`: lists of methods and of problems."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

import typer

_JSON = typer.Option(False, "--json", help="Print JSON instead of a table.")


def add(app: typer.Typer) -> None:
    app.command("methods")(methods)
    app.command("cases")(cases)


def methods(as_json: bool = _JSON) -> None:
    """List every method, for --method and --methods."""
    from ..registry import methods

    print_names("method", methods(), as_json)


def cases(as_json: bool = _JSON) -> None:
    """List the built-in problems and benchmarks, for nonstick bench."""
    from ..bench import benchmarks

    print_names("case", {name: entry.description for name, entry in benchmarks().items()}, as_json)


def print_names(what: str, rows: Mapping[str, str], as_json: bool) -> None:
    """Names with a line of text each, as a table or as JSON."""
    if as_json:
        print(json.dumps(dict(rows), indent=1, ensure_ascii=False))
    else:
        print_list((what, "what it is"), list(rows.items()))


def print_list(heads: Sequence[str], lines: Sequence[Sequence[str]]) -> None:
    """A table of names and their descriptions; the last column may take several lines."""
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    for k, head in enumerate(heads):
        table.add_column(head, no_wrap=k < len(heads) - 1, style=None if k else "cyan")
    for line in lines:
        table.add_row(*line)
    Console().print(table)
