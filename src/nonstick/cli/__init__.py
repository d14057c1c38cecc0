"""The command line. `nonstick --help` must answer at once, so no module here imports numpy or numba at
its top: a command imports what it needs when it runs (a test guards this).

A new group of commands is a module in this package with a function `add(app)`, named in `_COMMANDS`.
"""

from __future__ import annotations

from importlib import import_module

import typer

from .screen import showing_compilation
from .terminal import guarded, say

#: modules with an `add(app)`, in the order of the help page
_COMMANDS = ("scene", "solve", "bench", "listing")

# Typer keeps line ends, so the text is broken to fit 80 columns.
_HELP = """Liquids that let go of walls.

Simulates liquids that separate from solid walls, and solves bound-constrained
elliptic problems, min ½ xᵀA x − bᵀx subject to lower ≤ x ≤ upper, by every
method of five papers.

[cyan]nonstick run circle[/cyan]                     a first splash, with a movie
[cyan]nonstick solve problem.npz[/cyan]              solve a problem of yours
[cyan]nonstick bench circle2d --sizes 64 128[/cyan]  compare methods on a built-in case
"""

_EPILOG = """[bold]nonstick COMMAND --help[/bold] teaches a command, with an example.

Exit codes: 0 done, 1 interrupted, 2 bad input or not converged."""

app = typer.Typer(
    name="nonstick",
    help=_HELP,
    epilog=_EPILOG,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(value: bool) -> None:
    if value:
        from .. import __version__

        say(f"nonstick {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: bool = typer.Option(
        False, "--version", "-V", callback=_show_version, is_eager=True, help="Print the version and leave."
    ),
) -> None: ...


for _name in _COMMANDS:
    import_module(f".{_name}", __name__).add(app)


def main(words: list[str] | None = None) -> None:
    """Entry point of the `nonstick` command; always ends in SystemExit."""
    with showing_compilation():
        guarded(lambda: app(words))
