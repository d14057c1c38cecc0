"""`nonstick bench`: methods side by side on one case; `nonstick validate`: published experiments, run and compared."""

from __future__ import annotations

import sys
import textwrap
from dataclasses import dataclass, replace
from math import isnan
from pathlib import Path

import typer
from typer.core import TyperCommand

from .options import complete_cases, complete_methods, complete_validations, grouped, json_path, option
from .terminal import NOT_CONVERGED, Bar, fail, say, screen

#: endings of the names of problem files
PROBLEM_FILES = (".npz", ".mtx", ".mtx.gz")

# Typer keeps line ends, so the text is broken to fit 80 columns.
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

{papers}

Exit code 2 if a method that should converge does not, unless --maxiter or
--time-limit asked for an early end. Linear baselines count, ablations and
presets that papers show failing do not.
"""


def _help() -> str:
    """The help with the tables of each paper. It is made when it is asked for, because the files must be read."""
    import tomllib

    papers = []
    for file in sorted((Path(__file__).parents[1] / "bench" / "papers").glob("*.toml")):
        content = tomllib.loads(file.read_text(encoding="utf-8"))
        tables = {name: of for name, of in content.items() if "description" in of}
        lines = [f"{n:<17} {of['help']:<50} {of.get('minutes', 1)} min" for n, of in tables.items() if "help" in of]
        others = textwrap.fill(
            ", ".join(name for name, of in tables.items() if "help" not in of), 76, break_on_hyphens=False
        )
        papers.append("\n\n".join(filter(None, (content["title"], "\n".join(lines), others))))
    return _HELP.format(papers="\n\n".join(papers))


class _ManyValues(TyperCommand):
    """Lets `--sizes 32 64` stand for `--sizes 32 --sizes 64`, and commas for spaces; its help names the tables."""

    _VARIADIC = ("--sizes", "-n", "--methods", "-m")

    def format_help(self, ctx, formatter):
        self.help = _help()
        super().format_help(ctx, formatter)

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
    app.command("bench", cls=_ManyValues, help=_HELP.partition("\n")[0])(bench)
    app.command("validate")(validate)


def _list(asked: bool) -> None:
    if asked:
        from ..bench import benchmarks
        from .terminal import print_list

        print_list(
            ("case", "default sizes", "what it is"),
            [(name, " ".join(map(str, of.sizes)), of.description) for name, of in benchmarks().items()],
        )
        raise typer.Exit


@dataclass(frozen=True)
class Stop:
    """When a solve ends."""

    rtol: float = typer.Option(1e-6, help="KKT residual to reach, relative to max|b|.")
    maxiter: int | None = option("--maxiter", help="Iteration limit (default: each method's own).")
    time_limit: float | None = option("--time-limit", help="Seconds after which one solve is stopped (default: 300).")


@dataclass(frozen=True)
class Output:
    """Where rows and figures go."""

    json_file: str | None = option("--json", help="Write JSON rows to this file, after every row; - prints them.")
    folder: Path = option(
        "--figures", metavar="DIR", help="Where the figures of a table go (default: here).", default=Path()
    )
    resume: bool = typer.Option(
        False,
        "--resume",
        help="Continue a table that was stopped: solves recorded beside the --json file are not repeated.",
    )

    @property
    def file(self) -> Path | None:
        """The file of the rows; None if they go to the screen."""
        return json_path(self.json_file)


@dataclass(frozen=True)
class Selection:
    """A part of a table."""

    only: list[str] = typer.Option(
        [], "--only", metavar="TEXT", help="Parts of a table of several problems or scenes, by a word in their names."
    )
    frames: int | None = option(
        "--frames", help="Frames of a run (default: the table's own); of a single solve, its frame."
    )
    samples: int | None = option(
        "--samples", help="Solve in this many frames of a run, evenly spread (default: the table's own)."
    )
    settings: list[str] = typer.Option(
        [], "--set", "-s", metavar="KEY=VALUE", help="Change a key of the scenes of a table, e.g. -s time.cfl=4."
    )


@grouped
def bench(
    case: str = typer.Argument(
        ...,
        metavar="CASE",
        help="A table or problem from the lists here, or a problem file (.npz, .mtx).",
        autocompletion=complete_cases,
    ),
    sizes: list[int] = option(
        "--sizes", "-n", metavar="N...", help="Cells along a side, e.g. --sizes 32 64 128.", default=[]
    ),
    methods: list[str] = option(
        "--methods",
        "-m",
        autocompletion=complete_methods,
        metavar="NAME...",
        help="Methods, or all: every method that solves the complementarity problem.",
        default=[],
    ),
    stop: Stop = Stop(),
    output: Output = Output(),
    selection: Selection = Selection(),
    _: bool = typer.Option(
        False, "--list", help="List tables and problems with their default sizes.", callback=_list, is_eager=True
    ),
) -> None:
    from ..bench import from_file, get
    from ..bench.row import Row, to_json
    from ..files.atomic import write_text
    from ..scenes import parse_override

    if output.resume and output.file is None:
        fail("--resume continues the table of a --json FILE: give --json with that file")
    entry = from_file(case) if case.endswith(PROBLEM_FILES) else get(case)
    if output.folder.is_file():
        fail(f"--figures needs a directory, but {output.folder} is a file")
    rows: list[Row] = []
    stopped = False
    with Bar(case) as bar:
        plan = entry.plan(
            tuple(sizes),
            tuple(methods),
            rtol=stop.rtol,
            maxiter=stop.maxiter,
            time_limit=300.0 if stop.time_limit is None else stop.time_limit,
            folder=output.folder,
            only=tuple(selection.only),
            frames=selection.frames,
            samples=selection.samples,
            keys=dict(map(parse_override, selection.settings)),
            announce=lambda text: bar.tick(text=f"{case}: {text}"),
            done=lambda share: bar.tick(share, 1.0),
        )
        output.folder.mkdir(parents=True, exist_ok=True)
        if output.file is not None:
            if not output.resume:
                write_text(output.file, to_json(rows))  # report a bad path before the work
            plan = replace(plan, journal=_journal(output.file, plan, output.resume))
        try:
            for row in entry.run(plan):
                rows.append(row)
                if output.file is not None:
                    write_text(output.file, to_json(rows))
        except KeyboardInterrupt:
            stopped = True
    _show(rows, plan, output)
    if stopped:
        print(f"nonstick: interrupted{'' if output.file is None else '; --resume continues'}", file=sys.stderr)
        raise SystemExit(1)
    _judge(rows, limited=stop.maxiter is not None or stop.time_limit is not None)


def _show(rows, plan, output: Output) -> None:
    from rich.console import Console

    from ..bench.row import print_tables, to_json

    if output.json_file == "-":
        print(to_json(rows), end="")
        return
    print_tables(rows, Console(width=None if screen().is_terminal else 160))
    if output.file is not None:
        say(f"{len(rows)} rows are in {output.file}")
    if plan.drawn:
        say(f"figures: {', '.join(map(str, plan.drawn))}")
    for obstacle in plan.undrawn:
        say(f"no figures: {obstacle}")


def _journal(json_file: Path, plan, resume: bool):
    """Every single solve, in a file beside the rows."""
    import numba

    from .. import __version__
    from ..bench.row import Journal

    settings = {
        "version": __version__,
        "rtol": plan.rtol,
        "maxiter": plan.maxiter,
        "time limit": plan.time_limit,
        "threads": numba.get_num_threads(),
    }
    return Journal(json_file.with_suffix(".solves.jsonl"), settings, resume)


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


def validate(
    cases: list[str] = typer.Argument(
        None,
        metavar="[CASE]...",
        help="Cases; none: all.",
        show_default=False,
        autocompletion=complete_validations,
    ),
    show: bool = typer.Option(False, "--list", help="List the cases."),
    full: bool = typer.Option(False, "--full/--quick", help="Full sizes take minutes to hours; quick ones seconds."),
    out: Path = typer.Option(Path("."), "--out", "-o", help="Where validation.md and the plots are written."),
    resume: bool = typer.Option(
        False, "--resume", help="Leave out cases whose results this version of the code has already written to --out."
    ),
    as_json: bool = typer.Option(False, "--json", help="Print the results as JSON (with --list: the cases)."),
) -> None:
    """Run published experiments and exact solutions, and compare.

    Every case runs on several grids. Measured and published numbers, the error and the observed order are printed;
    validation.md and a plot of each case are written as soon as it has run. The exit code is 2 if an error is larger
    than allowed.

    [bold]Example:[/bold]

    nonstick validate slosh martin-moyce --full
    """
    import difflib
    import json

    from ..core.optional import missing
    from ..validation import experiments
    from .terminal import print_names

    known = experiments()
    if show:
        print_names("case", {name: case.title for name, case in known.items()}, as_json)
        return
    for name in cases or ():
        if name not in known:
            close = difflib.get_close_matches(name, known, n=1)
            hint = f"did you mean {close[0]!r}" if close else "`nonstick validate --list` shows them"
            fail(f"there is no case {name!r}; {hint}")
    results = _run({name: known[name] for name in cases or known}, full, as_json, known, out, resume)
    if as_json:
        print(json.dumps({name: _numbers(result) for name, result in results.items()}, indent=1))
    else:
        obstacle = missing("pictures", "matplotlib")
        say(f"page     {out / 'validation.md'}")
        say(f"plots    {out / 'validation'}" if obstacle is None else f"no plots: {obstacle}")
        _table(results)
    if not all(result.passed() for result in results.values()):
        raise SystemExit(NOT_CONVERGED)


def _run(cases: dict, full: bool, quiet: bool, known: dict, out: Path, resume: bool) -> dict:
    """The results of the cases, with a line for each run on the terminal; each is written as soon as it is there."""
    from ..validation.results import done, run_case, write

    results = {}
    there = done(out / "validation" / "results.json", known, full) if resume else {}
    with Bar(shown=not quiet) as bar:

        def line(text: str) -> None:
            if not quiet:
                bar.console.print(text, markup=False, highlight=False)

        def told(size, run) -> None:
            bar.tick(text=f"{name}: {size} …")
            if run is not None:
                line(f"{name}: {size}, {run.seconds:.1f} s")

        for name, case in cases.items():
            results[name] = there[name] if name in there else run_case(case, full, told)
            if name in there:
                line(f"{name}: already there")
            else:
                write(name, results[name], known, out)
    return results


def _numbers(result) -> dict:
    found = {}
    for n in result.case.published:
        value, order = result.last.values[n.key], result.order(n)
        verdict = {"allowed": n.allowed(result.full), "order": None if isnan(order) else order}
        verdict |= {"passed": result.passed(n), "size": str(result.last.size)}
        numbers = {"measured": value, "published": n.value, "unit": n.unit, "error": n.error(value)}
        found[n.key] = numbers | verdict
    return found


def _table(results: dict) -> None:
    from ..validation.results import COLUMNS, rows
    from .terminal import print_table

    columns = {head: {"no_wrap": True} for head in COLUMNS} | {"quantity": {"min_width": 24}}
    print_table(columns, [row for name, result in results.items() for row in rows(name, result)], wide=True)
    passed = sum(result.passed() for result in results.values())
    say(f"{passed} of {len(results)} cases pass")
