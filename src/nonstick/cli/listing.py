"""`nonstick methods` and `nonstick cases`: lists of methods and of problems."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import typer

from . import complete
from .terminal import fail, say

_JSON = typer.Option(False, "--json", help="Print JSON instead of a table.")


def add(app: typer.Typer) -> None:
    app.command("methods")(methods)
    app.command("cases")(cases)


def methods(as_json: bool = _JSON) -> None:
    """List every method, for --method and --methods."""
    from ..registry import methods

    print_names("method", methods(), as_json)


def cases(
    name: str | None = typer.Argument(
        None, metavar="[CASE]", help="The problem to save.", show_default=False, autocompletion=complete.problems
    ),
    save: Path | None = typer.Option(
        None,
        "--save",
        metavar="FILE",
        help="Write the problem to FILE.npz or FILE.mtx; without CASE: every problem, into the folder FILE.",
        show_default=False,
    ),
    size: int = typer.Option(32, "--size", "-n", help="Cells (obstacle problems: nodes) per side."),
    as_json: bool = _JSON,
) -> None:
    """List the built-in problems and benchmarks, for nonstick bench; or save problems.

    [bold]Example:[/bold]

    nonstick cases circle2d --size 64 --save circle.npz
    """
    if save is not None:
        _save(name, save, size)
        return
    if name is not None:
        fail(f"say where the problem goes: nonstick cases {name} --size {size} --save {name}.npz")
    from ..bench import benchmarks

    print_names("case", {name: entry.description for name, entry in benchmarks().items()}, as_json)


def _save(name: str | None, target: Path, size: int) -> None:
    from .. import cases
    from ..io.problems import save_problem

    if name is None and target.suffix in (".npz", ".mtx"):
        fail(f"name the problem that goes to {target}: nonstick cases circle2d --save {target}")
    if target.suffix not in (".npz", ".mtx", "") and not target.is_dir():
        fail(f"a problem is written as .npz or .mtx, and {target} is no folder: name it {target.stem}.npz")
    if target.suffix in (".npz", ".mtx"):
        files = {str(name): target}
    else:
        files = {known: target / f"{known}-{size}.npz" for known in ([name] if name else cases.names())}
        target.mkdir(parents=True, exist_ok=True)
    for known, file in files.items():
        problem = cases.build(known, size).problem
        save_problem(file, problem)
        say(f"{known}: {problem.n} unknowns, in {file}")


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
