"""`nonstick bench`: methods side by side on one case."""

from __future__ import annotations

import typer
from typer.core import TyperCommand

from .terminal import say


class _ManyValues(TyperCommand):
    """Lets `--sizes 32 64` stand for `--sizes 32 --sizes 64`, and commas for spaces."""

    _VARIADIC = ("--sizes", "-n", "--methods", "-m")

    def parse_args(self, ctx, args):
        return super().parse_args(ctx, self._spell_out(list(args)))

    def _spell_out(self, args: list[str]) -> list[str]:
        out: list[str] = []
        while args:
            word = args.pop(0)
            option, _, inline = word.partition("=")
            if option not in self._VARIADIC:
                out.append(word)
                continue
            values = inline.split(",") if inline else []
            # A size is a number, so a case named after the sizes is not taken for one.
            while args and not args[0].startswith("-") and (option not in ("--sizes", "-n") or args[0][:1].isdigit()):
                values += args.pop(0).split(",")
            if not values:
                out.append(option)
            for value in values:
                if value:
                    out += [option, value]
        return out


def add(app: typer.Typer) -> None:
    app.command("bench", cls=_ManyValues)(bench)


def bench(
    case: str = typer.Argument(..., metavar="CASE", help="Which problem or table; nonstick cases lists all."),
    sizes: list[int] = typer.Option(
        [], "--sizes", "-n", metavar="N...", help="Cells along a side, e.g. --sizes 32 64 128.", show_default=False
    ),
    methods: list[str] = typer.Option(
        [],
        "--methods",
        "-m",
        metavar="NAME...",
        help="Methods, or all: every method that solves the complementarity problem.",
        show_default=False,
    ),
    rtol: float = typer.Option(1e-6, help="KKT residual to reach, relative to max|b|."),
    maxiter: int | None = typer.Option(None, help="Iteration limit (default: each method's own).", show_default=False),
    time_limit: float = typer.Option(300.0, help="Seconds after which one solve is stopped."),
    json_file: str | None = typer.Option(
        None, "--json", help="Write JSON rows to this file, after every row; - prints them.", show_default=False
    ),
) -> None:
    """Compare methods on a built-in case: iterations, outer iterations, seconds.

    Counts are those the method's paper counts. A count after > means not
    converged, a dash that the method cannot treat the case; the reasons
    stand below the tables. Seconds include set-up; compilation on first use
    is left out.

    [bold]Example:[/bold]

    nonstick bench sphere3d --sizes 32 64 128 --methods fas-mg pi-mg
    """
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    from ..bench import get
    from ..bench.layout import print_tables
    from ..bench.row import Row, to_json
    from ..io.atomic import write_text

    entry = get(case)
    errors = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    rows: list[Row] = []
    with Progress(*columns, console=errors, transient=True, disable=not errors.is_terminal) as progress:
        task = progress.add_task(case)
        plan = entry.plan(
            tuple(sizes), tuple(methods), rtol=rtol, maxiter=maxiter, time_limit=time_limit,
            announce=lambda text: progress.update(task, description=f"{case}: {text}"),
        )  # fmt: skip
        if json_file not in (None, "-"):
            write_text(json_file, to_json(rows))  # type: ignore[arg-type]  # a bad path is said before the work
        progress.update(task, total=len(plan.sizes) * len(plan.methods))
        for row in entry.run(plan):
            rows.append(row)
            progress.advance(task)
            if json_file not in (None, "-"):
                write_text(json_file, to_json(rows))  # type: ignore[arg-type]
    if json_file == "-":
        print(to_json(rows), end="")
        return
    print_tables(rows, Console(width=None if errors.is_terminal else 160))
    if json_file is not None:
        say(f"{len(rows)} rows are in {json_file}")
