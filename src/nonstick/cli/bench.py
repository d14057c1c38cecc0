"""`nonstick bench`: methods side by side on one case."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import typer
from typer.core import TyperCommand

from .options import complete_cases, complete_methods
from .terminal import NOT_CONVERGED, fail, say, screen

#: endings of the names of problem files
PROBLEM_FILES = (".npz", ".mtx", ".mtx.gz")

# Typer keeps line ends, so the text is broken to fit 80 columns. A test checks that the names exist. Minutes are
# measured on a quiet machine with two cores, at the default sizes, after kernels are compiled.
_HELP = """Compare methods on a problem, a table of a paper, or your own file.

Prints iterations, outer iterations and seconds, the paper's numbers below
ours. Counts are in the unit of the method's paper. A count after > means not
converged, a dash means no count; the reasons are below the tables. Seconds
include set-up, but not compilation on first use.

[bold]Examples:[/bold]

nonstick bench sphere3d --sizes 32 64 128 --methods fas-mg pi-mg

nonstick bench lai-table1 --json rows.json --figures .

nonstick bench lai-table2 --json rows.json --resume   continues after a kill

nonstick bench problem.npz          every method on your problem

[bold]Problems:[/bold] circle2d, sphere3d, obstacle2d …: [cyan]nonstick bench --list[/cyan].
Seconds to minutes, at any size; [cyan]peers[/cyan] adds other packages.

[bold]Lai 2020[/bold], all methods over simulations (paper: up to 256):

lai-table1   tables 1, 3, 5, fig. 5.5: circle, 100 frames, 2D      1 min
lai-table2   tables 2, 4, 6, fig. 5.5: sphere, 100 frames, 3D      1 min
lai-table7   tables 7, 8: maze, 100 frames, 2D                     1 min
lai-table9   fig. 5.10: sphere, one solve of frame 10, 3D          1 min
lai-table10  fig. 5.10: with a cuboid, one solve of frame 70       2 min
lai-table11  fig. 5.10: double sphere, one solve of frame 10       1 min
lai-table12  fig. 5.11: FAS with parts exchanged                   1 min

[bold]Chentanez–Müller 2012[/bold]:

cm-table1    what the LCP costs at fixed work, four scenes, 3D     2 min

[bold]Andersen 2017[/bold], 2D (paper: 200² and more):

andersen-table1   Newton against PCG, fig. 8 to 11                 2 min
andersen-solvers  sub-solver × preconditioner, fig. 12 to 14       1 min
andersen-xi       accuracy of the sub-solver, fig. 16 and 17       1 min
andersen-volume   volume over 5 s, correction off, fig. 15         1 min
andersen-momentum slip against separating walls, §7                1 min

[bold]Takahashi–Batty[/bold]: tb-table1 … tb-table5, tb-figure5, tb-cycles.
[bold]Aanjaneya 2019[/bold]: visc-table1 … visc-table3, visc-profile, visc-box, visc-jump.

Exit code 2 if a method that should converge does not, unless --maxiter or
--time-limit asked for an early end. Linear baselines count, ablations and
presets that papers show failing do not.
"""


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
            # A size is a number, so the name of a case after the sizes is not read as a size.
            while args and not args[0].startswith("-") and (option not in ("--sizes", "-n") or args[0][:1].isdigit()):
                values += args.pop(0).split(",")
            if not values:
                out.append(option)
            for value in values:
                if value:
                    out += [option, value]
        return out


def add(app: typer.Typer) -> None:
    app.command("bench", cls=_ManyValues, help=_HELP)(bench)


def _list(asked: bool) -> None:
    if asked:
        from ..bench import benchmarks
        from .terminal import print_list

        print_list(
            ("case", "default sizes", "what it is"),
            [(name, " ".join(map(str, of.sizes)), of.description) for name, of in benchmarks().items()],
        )
        raise typer.Exit


def bench(
    case: str = typer.Argument(
        ...,
        metavar="CASE",
        help="A table or problem from the lists here, or a problem file (.npz, .mtx).",
        autocompletion=complete_cases,
    ),
    sizes: list[int] = typer.Option(
        [], "--sizes", "-n", metavar="N...", help="Cells along a side, e.g. --sizes 32 64 128.", show_default=False
    ),
    methods: list[str] = typer.Option(
        [],
        "--methods",
        "-m",
        autocompletion=complete_methods,
        metavar="NAME...",
        help="Methods, or all: every method that solves the complementarity problem.",
        show_default=False,
    ),
    rtol: float = typer.Option(1e-6, help="KKT residual to reach, relative to max|b|."),
    maxiter: int | None = typer.Option(None, help="Iteration limit (default: each method's own).", show_default=False),
    time_limit: float | None = typer.Option(
        None, help="Seconds after which one solve is stopped (default: 300).", show_default=False
    ),
    json_file: str | None = typer.Option(
        None, "--json", help="Write JSON rows to this file, after every row; - prints them.", show_default=False
    ),
    folder: Path = typer.Option(
        Path(), "--figures", metavar="DIR", help="Where the figures of a table go (default: here).", show_default=False
    ),
    resume: bool = typer.Option(
        False,
        "--resume",
        help="Continue a table that was stopped: solves recorded beside the --json file are not repeated.",
    ),
    only: list[str] = typer.Option(
        [], "--only", metavar="TEXT", help="Parts of a table of several problems or scenes, by a word in their names."
    ),
    frames: int | None = typer.Option(
        None, "--frames", help="Frames of a run (default: the table's own); of a single solve, its frame.",
        show_default=False,
    ),
    samples: int | None = typer.Option(
        None, "--samples", help="Solve in so many frames of a run, evenly spread (default: the table's own).",
        show_default=False,
    ),
    settings: list[str] = typer.Option(
        [], "--set", "-s", metavar="KEY=VALUE", help="Change a key of the scenes of a table, e.g. -s time.cfl=4."
    ),
    _: bool = typer.Option(
        False, "--list", help="List tables and problems with their default sizes.", callback=_list, is_eager=True
    ),
) -> None:  # fmt: skip
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

    from ..bench import from_file, get
    from ..bench.layout import print_tables
    from ..bench.row import Row, to_json
    from ..io.atomic import write_text
    from ..scenes import parse_override

    if resume and json_file in (None, "-"):
        fail("--resume continues the table of a --json FILE: give --json with that file")
    entry = from_file(case) if case.endswith(PROBLEM_FILES) else get(case)
    if folder.is_file():
        fail(f"--figures needs a directory, but {folder} is a file")
    limited = maxiter is not None or time_limit is not None
    errors = screen()
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
    rows: list[Row] = []
    stopped = False
    with Progress(*columns, console=errors, transient=True, disable=not errors.is_terminal) as progress:
        task = progress.add_task(case, total=None)
        plan = entry.plan(
            tuple(sizes), tuple(methods), rtol=rtol, maxiter=maxiter, folder=folder,
            time_limit=300.0 if time_limit is None else time_limit,
            only=tuple(only), frames=frames, samples=samples, keys=dict(map(parse_override, settings)),
            announce=lambda text: progress.update(task, description=f"{case}: {text}"),
            done=lambda share: progress.update(task, total=1.0, completed=share),
        )  # fmt: skip
        folder.mkdir(parents=True, exist_ok=True)
        if json_file not in (None, "-"):
            if not resume:
                write_text(json_file, to_json(rows))  # report a bad path before the work
            plan = replace(plan, journal=_journal(json_file, plan, resume))
        try:
            for row in entry.run(plan):
                rows.append(row)
                if json_file not in (None, "-"):
                    write_text(json_file, to_json(rows))
        except KeyboardInterrupt:
            stopped = True
    if json_file == "-":
        print(to_json(rows), end="")
    else:
        print_tables(rows, Console(width=None if errors.is_terminal else 160))
        if json_file is not None:
            say(f"{len(rows)} rows are in {json_file}")
        if plan.drawn:
            say(f"figures: {', '.join(map(str, plan.drawn))}")
        for obstacle in plan.undrawn:
            say(f"no figures: {obstacle}")
    if stopped:
        print(f"nonstick: interrupted{'' if json_file in (None, '-') else '; --resume continues'}", file=sys.stderr)
        raise SystemExit(1)
    _judge(rows, limited)


def _journal(json_file: str, plan, resume: bool):
    """Every single solve, in a file beside the rows."""
    import numba

    from .. import __version__
    from ..bench.journal import Journal

    settings = {
        "version": __version__, "rtol": plan.rtol, "maxiter": plan.maxiter, "time limit": plan.time_limit,
        "threads": numba.get_num_threads(),
    }  # fmt: skip
    return Journal(Path(json_file).with_suffix(".solves.jsonl"), settings, resume)


def _judge(rows, limited: bool) -> None:
    """Exit with an error code if a method that should converge has not converged, or if nothing could be measured."""
    missed = [row for row in rows if row.missed]
    if missed and not limited:
        names = dict.fromkeys(f"{row.method} on {row.case} at {row.n}" for row in missed)
        print(f"nonstick: not converged: {', '.join(names)}", file=sys.stderr)
        raise SystemExit(NOT_CONVERGED)
    measured = [row for row in rows if not row.case.endswith("(published)")]
    if measured and all(row.iterations is None and not row.extra for row in measured):
        fail(f"nothing could be measured: {measured[0].reason}")
