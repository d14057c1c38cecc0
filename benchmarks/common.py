"""What every script here shares: rows in a JSON file, a picture, a progress display, a table on the screen.

Each script is `main(out=..., sizes=..., ...) -> rows` and a command line with the same words. Rows are written after
every measurement, so a run may be stopped; a later run replaces the rows it measures again and keeps the others, so a
long table may be made in pieces.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from nonstick.bench.measure import measure, warm_up
from nonstick.bench.registry import Plan
from nonstick.bench.row import version
from nonstick.files.atomic import write_text

screen = Console(stderr=True)


class Rows(list):
    """Rows that live in `out/name.json`; `key` says which rows replace each other."""

    def __init__(self, out: str | Path, name: str, key: Sequence[str]):
        super().__init__()
        self.path = Path(out, f"{name}.json")
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._key = key
        if self.path.exists():
            self.extend(json.loads(self.path.read_text()))

    def add(self, row: dict) -> dict:
        same = [k for k, old in enumerate(self) if all(old.get(key) == row.get(key) for key in self._key)]
        for k in reversed(same):
            del self[k]
        self.append(row)
        lines = ",\n".join(json.dumps(row, ensure_ascii=False) for row in self)
        write_text(self.path, f"[\n{lines}\n]\n")
        return row


class Steps:
    """`step("what is next")` before each measurement; `say` changes the words only."""

    def __init__(self, bar: Progress, title: str, total: int):
        self._bar, self._title, self._task, self._begun = bar, title, bar.add_task(title, total=total), False

    def __call__(self, text: str) -> None:
        if self._begun:
            self._bar.advance(self._task)
        self._begun = True
        self.say(text)

    def say(self, text: str) -> None:
        self._bar.update(self._task, description=f"{self._title}: {text}")


@contextmanager
def progress(title: str, total: int) -> Iterator[Steps]:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=screen, transient=True, disable=not screen.is_terminal) as bar:
        yield Steps(bar, title, total)


def timed(
    case: str, n: int, method, build, *, warm=None, rtol: float = 1e-6, label: str = "", time_limit: float = 300.0
) -> dict:
    """A row as `nonstick bench` makes it: compiled before, the fastest of three where it is short."""
    plan = Plan((n,), (), rtol=rtol, time_limit=time_limit)
    if warm is not None:
        warm_up(method, warm, plan)
    return measure(case, n, method, build, plan, label=label).asdict()


def show(title: str, heads: Sequence[str], lines: Sequence[Sequence[object]]) -> None:
    """A table on stdout."""
    table = Table(title=title, title_justify="left", box=None, pad_edge=False)
    for head in heads:
        table.add_column(head, justify="right", no_wrap=True)
    for line in lines:
        table.add_row(*(_text(value) for value in line))
    Console(width=None if screen.is_terminal else 140).print(table)


def run_studies(
    out: str, name: str, studies: Mapping[str, Callable[[Sequence[int]], Iterable[dict]]], sizes: Sequence[int],
    heads: Sequence[str],
) -> Rows:  # fmt: skip
    """The rows of some studies, each a function of the sizes, in `out`/`name`.json; `heads` are columns to show."""
    first = ("study", "case", "n", "method")
    rows = Rows(out, name, first)
    with progress(name, len(studies)) as step:
        for study, made in studies.items():
            step(study)
            for row in made(sizes):
                rows.add({"study": study, **row, "version": version()})
    heads = (*first, *heads)
    show(name, heads, [[row.get(head) for head in heads] for row in rows if row["study"] in studies])
    return rows


def _text(value: object) -> str:
    if value is None:
        return "-"
    return f"{value:.3g}" if isinstance(value, float) else str(value)


@contextmanager
def figure(path: Path, width: float = 6.4, height: float = 4.4) -> Iterator:
    """A pair of axes, saved to `path` in the end."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    fig = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(fig)
    axes = fig.add_subplot()
    axes.spines[["top", "right"]].set_visible(False)
    yield axes
    fig.savefig(path, dpi=150)


def options(description: str | None, *, sizes: Sequence[int], **others) -> dict:
    """The command line: --out, --sizes and whatever else, as keyword arguments of `main`."""
    parser = argparse.ArgumentParser(description=(description or "").split("\n")[0])
    parser.add_argument("--out", default="benchmarks/results", help="folder for JSON rows and PNG pictures")
    parser.add_argument("--sizes", type=int, nargs="+", default=list(sizes))
    for name, value in others.items():
        flag = "--" + name.replace("_", "-")
        if isinstance(value, bool):
            parser.add_argument(flag, action="store_true")
        elif isinstance(value, (tuple, list)):
            parser.add_argument(flag, nargs="+", default=list(value))
        else:
            parser.add_argument(flag, type=type(value), default=value)
    return vars(parser.parse_args())
