"""Measurements: one row, the average of many, the journal that keeps them on disk, the version that measured;
and tables on screen in the layout of Lai's tables: a row per size, a column per method.

The journal lets a long table that was stopped continue: one JSON line per measurement. A measurement is recognised by
its case, size and label and by a checksum of its problem and its start. A table that runs again simulates the motion
again, which gives the same bits, and takes earlier solves from the journal. If the motion has changed, nothing matches,
and every solve is measured again.

Rows of a case "X (published)" are the paper's: they appear in the tables of X, below our rows of the same size. A case
that begins with X, like "X corridors", is another problem. Without a case X, the published rows are separate tables.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from rich import box
from rich.console import Console
from rich.table import Table

from .. import __version__
from ..errors import NonstickError

#: (iterations, residual) after each iteration
Trace = list[tuple[float, float]]


@dataclass
class Row:
    """The result of one method on one problem; the field names are the keys of the JSON rows.

    A method that cannot treat a case has a `reason` and no numbers.
    """

    case: str
    #: cells along the longest side of the grid
    n: int
    unknowns: int | None
    method: str
    #: in the unit of the method's paper: V-cycles, CG iterations, sweeps; a mean may not be an integer
    iterations: float | None = None
    outer_iterations: float | None = None
    #: the whole solve, set-up included, without building the problem and without compiling
    seconds: float | None = None
    setup_seconds: float | None = None
    #: recomputed from the problem after the solve
    kkt: float | None = None
    converged: bool = False
    #: the rise of resident memory during the solve; None if the system cannot measure it
    peak_bytes: int | None = None
    threads: int | None = None
    #: entries stored by a preconditioner and the matrix, if a table counts them
    nonzeros: int | None = None
    #: levels of a multigrid hierarchy, if a table counts them
    levels: int | None = None
    #: why there are no numbers, or why it did not converge
    reason: str | None = None
    #: what finished the solve, if the method could not: "CG", "policy iteration", "projected SOR" or "descent"
    finished_by: str | None = None
    #: the version of nonstick that measured it, and a hash of its source
    version: str = ""
    #: processor time of the process during the solve, over all threads; other work on the machine hardly changes it
    cpu_seconds: float | None = None
    #: of an average: the number of solves
    solves: int | None = None
    #: True if missing the tolerance is a failure; False for ablations, fixed work and problems without a solution
    must_converge: bool = True
    #: further numbers by their name and unit, if a table has them ("slowdown in %", "volume change in %", ...)
    extra: dict[str, float] = field(default_factory=dict)

    @property
    def missed(self) -> bool:
        """True if it ran and should have reached the tolerance, but has not."""
        return self.must_converge and not self.converged and (self.iterations is not None or bool(self.extra))

    def asdict(self) -> dict[str, object]:
        return asdict(self)


def to_json(rows: Iterable[Row]) -> str:
    """A JSON array, one row per line."""
    lines = ",\n".join(json.dumps(row.asdict(), ensure_ascii=False) for row in rows)
    return f"[\n{lines}\n]\n"


def mean_row(case: str, n: int, method: str, rows: Sequence[Row], stopped: str = "") -> Row:
    """The average of several rows of one method; it has converged if all rows have that are expected to.

    `stopped` says where a run was interrupted; its average is over the rows made so far.
    """
    good = [r for r in rows if r.iterations is not None]
    if not good:
        return Row(case, n, None, method, reason=rows[0].reason if rows else "no problem to solve")

    def mean(name: str) -> float:
        return round(float(np.mean([getattr(r, name) for r in good])), 6)

    bound = [r for r in good if r.must_converge]
    missed = sum(not r.converged for r in bound or good)
    unsolvable = len(good) - len(bound) if bound else 0  # rows are of one method and differ only by the problem
    peaks = [r.peak_bytes for r in good if r.peak_bytes is not None]
    reasons = [stopped] if stopped else []
    if missed:
        reasons.append(f"{missed} of {len(good)} solves did not converge")
    if unsolvable:
        reasons.append(f"{unsolvable} of {len(good)} problems hold a compressed pocket and have no solution")
    if len(good) < len(rows):
        reasons.append(f"it cannot treat {len(rows) - len(good)} of {len(rows)} problems")
    return Row(
        case,
        n,
        round(mean("unknowns")),
        method,
        iterations=round(mean("iterations"), 2),
        outer_iterations=round(mean("outer_iterations"), 2),
        seconds=mean("seconds"),
        setup_seconds=mean("setup_seconds"),
        kkt=max(r.kkt for r in good if r.kkt is not None),
        converged=missed == 0,
        peak_bytes=max(peaks) if peaks else None,
        threads=good[0].threads,
        cpu_seconds=None if any(r.cpu_seconds is None for r in good) else mean("cpu_seconds"),
        finished_by=_finished(good),
        version=good[0].version,
        solves=len(good),
        levels=max((r.levels for r in good if r.levels is not None), default=None),
        reason="; ".join(reasons) or None,
        must_converge=bool(bound),
    )


def _finished(rows: Sequence[Row]) -> str | None:
    """What finished the solves that their method could not finish, and how many these are."""
    by = [r.finished_by for r in rows if r.finished_by]
    return f"{', '.join(dict.fromkeys(by))} in {len(by)} of {len(rows)}" if by else None


def quartiles(traces: Sequence[Trace]) -> tuple[np.ndarray, np.ndarray]:
    """Iteration counts, and at each the smallest, lower quartile, median, upper quartile and largest residual.

    A residual is valid until the next one, and the last one is valid for ever: a solve that has ended still counts in
    the distribution. The result is an array of 5 rows.
    """
    traces = [t for t in traces if t]
    if not traces:
        return np.empty(0), np.empty((5, 0))
    at = np.unique([k for trace in traces for k, _ in trace])
    values = np.empty((len(traces), at.size))
    for row, trace in zip(values, traces):
        k, residual = np.array(trace, float).T
        row[:] = residual[np.maximum(np.searchsorted(k, at, side="right") - 1, 0)]
    return at, np.percentile(values, (0, 25, 50, 75, 100), axis=0)


@cache
def version() -> str:
    """The version of the package and of its source.

    Examples
    --------
    >>> from nonstick.bench.row import version
    >>> version().count("+")
    1
    """
    root = Path(__file__).parents[1]
    text = hashlib.sha256()
    for file in sorted(root.rglob("*.py")):
        text.update(str(file.relative_to(root)).encode() + b"\0" + file.read_bytes())
    return f"{__version__}+{text.hexdigest()[:7]}"


def checksum(*arrays: np.ndarray | None) -> int:
    """A checksum that distinguishes problems of one size; None counts as an empty array."""
    value = 0
    for array in arrays:
        value = zlib.crc32(b"" if array is None else np.ascontiguousarray(array).tobytes(), value)
    return value


class Journal:
    """`path` is written from the start or, with `resume`, read and continued. Without a path nothing is stored."""

    def __init__(self, path: Path | None = None, settings: Mapping[str, Any] | None = None, resume: bool = False):
        self.path = path
        self._known: dict[str, Any] = {}
        if path is None:
            return
        head = _line({"settings": dict(settings or {})})
        if resume and path.exists():
            self._read(path, head)
        else:
            path.write_text(head, encoding="utf-8")

    def _read(self, path: Path, head: str) -> None:
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
        if not lines or lines[0] != head:
            raise NonstickError(
                f"{path} was measured with other settings: remove --resume to begin again, or give "
                f"the same --rtol, --maxiter, --time-limit and number of threads"
            )
        whole = 0
        for line in lines:
            try:
                entry = json.loads(line) if line.endswith("\n") else None
            except ValueError:
                entry = None
            if entry is None:  # a kill cut off the last line: the following measurements are new
                break
            whole += len(line.encode())
            if "key" in entry:
                self._known[json.dumps(entry["key"])] = entry["value"]
        with path.open("r+b") as file:
            file.truncate(whole)

    def get(self, *key: Any) -> Any | None:
        """The measurement stored under this key, or None."""
        return self._known.get(json.dumps(key))

    def keep(self, value: Any, *key: Any) -> None:
        if self.path is not None:
            with self.path.open("a", encoding="utf-8") as file:
                file.write(_line({"key": key, "value": value}))

    def __len__(self) -> int:
        """Number of measurements found by `resume`."""
        return len(self._known)


def _line(entry: Mapping[str, Any]) -> str:
    return json.dumps(entry, ensure_ascii=False) + "\n"


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
