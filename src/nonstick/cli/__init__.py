"""The command line. `nonstick --help` must answer at once, so no module here imports numpy or numba at
its top: a command imports what it needs when it runs (a test guards this).

A new group of commands is a module in this package with a function `add(app)`, named in `_COMMANDS`.
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

import typer

from ..parallel import launch
from .front import Front
from .terminal import forgiving_streams, guarded, say, showing_compilation

#: modules with an `add(app)`, in the order of the help page
_COMMANDS = (
    *("scene", "sweep", "render", "view"),  # runs
    *("solve", "bench", "listing"),  # problems
)

# Typer keeps line ends, so the text is broken to fit 80 columns.
_HELP = """Liquids that let go of walls.

Simulates liquids that separate from solid walls, and solves bound-constrained
elliptic problems, min ½ xᵀA x − bᵀx subject to lower ≤ x ≤ upper, by every
method of five papers.

[cyan]nonstick run circle[/cyan]                     a first splash, with a movie
[cyan]nonstick solve problem.npz[/cyan]              solve your own problem
[cyan]nonstick bench circle2d --sizes 64 128[/cyan]  compare methods on a built-in case
"""

_EPILOG = """[bold]nonstick COMMAND --help[/bold] explains a command, with an example.

Exit codes: 0 done, 1 interrupted, 2 bad input or not converged."""

app = typer.Typer(
    name="nonstick",
    cls=Front,
    help=_HELP,
    epilog=_EPILOG,
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(value: bool) -> None:
    if value:
        from .. import __version__

        say(f"nonstick {__version__}{_commit()}")
        raise typer.Exit


def _commit() -> str:
    """The commit, as in "+g81c9afc9" or "+g81c9afc9.dirty", if the package runs from a clone; else nothing."""
    root = Path(__file__).parents[3]
    if not ((root / ".git").exists() and (root / "src" / "nonstick" / "cli").is_dir()):
        return ""
    import subprocess

    words = ("git", "-C", str(root), "describe", "--always", "--dirty=.dirty", "--abbrev=8", "--exclude=*")
    try:
        found = subprocess.run(words, capture_output=True, text=True, timeout=5).stdout.strip()
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return f"+g{found}" if found else ""


def _load(files: list[Path]) -> list[Path]:
    if files:
        from ..registry import load_plugin

        for file in files:
            load_plugin(file)
    return files


@app.callback()
def _root(
    version: bool = typer.Option(
        False, "--version", "-V", callback=_show_version, is_eager=True, help="Print the version and exit."
    ),
    plugin: list[Path] = typer.Option(
        [],
        "--plugin",
        metavar="FILE.py",
        envvar="NONSTICK_PLUGINS",
        callback=_load,
        help="First run a Python file that registers your own methods (nonstick.register); may be given several "
        "times, anywhere on the line. The file runs with your rights: use only files you trust.",
    ),
) -> None: ...


for _name in _COMMANDS:
    import_module(f".{_name}", __name__).add(app)


def main(words: list[str] | None = None) -> None:
    """Entry point of the `nonstick` command; always ends in SystemExit."""
    words = sys.argv[1:] if words is None else words
    forgiving_streams()

    def command() -> None:
        with showing_compilation():
            guarded(lambda: app(_plugins_first(words), prog_name="nonstick"))

    if launch.ranks() > 1:
        launch.one_thread_per_rank()
        launch.end_together(command)
    command()


def _plugins_first(words: list[str]) -> list[str]:
    """The command line with `--plugin FILE` moved to the front, where options common to all commands must stand."""
    first, rest, todo = [], [], list(words)
    while todo:
        word = todo.pop(0)
        if word == "--":
            rest += [word, *todo]
            break
        if word == "--plugin" and todo:
            first += [word, todo.pop(0)]
        elif word.startswith("--plugin="):
            first.append(word)
        else:
            rest.append(word)
    return first + rest
