"""`nonstick validate`: published experiments, run here and compared."""

from __future__ import annotations

from math import isnan
from pathlib import Path

import typer

from .options import complete_validations
from .terminal import NOT_CONVERGED, Bar, fail, say


def add(app: typer.Typer) -> None:
    app.command("validate")(validate)


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
