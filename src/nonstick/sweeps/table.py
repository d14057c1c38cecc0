"""The numbers of all runs of a sweep: a row for every run, as arrays, as sweep.csv and as a plot."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from ..core.optional import need
from ..errors import NonstickError
from ..files.atomic import replacing, write_text
from ..files.rundir import PROBES, RunDirectory
from ..files.tables import read_probes
from .plan import SweepPlan

#: the file of the table in the directory of a sweep
TABLE = "sweep.csv"


class SweepTable:
    """A row for every run of a sweep.

    Columns are: `run`, the keys that vary, `status`, `error`, `frames`, `seconds`, the numbers of the summary of
    `nonstick info`, and for every probe its last, smallest and largest value.

    Attributes
    ----------
    rows : list of dict
        A run has no entry for a number that it does not have.
    keys : list of str
        The keys that vary.
    directory : Path
        Where the runs are.
    """

    def __init__(self, rows: list[dict[str, Any]], keys: list[str], directory: Path):
        self.rows, self.keys, self.directory = rows, keys, directory
        self.columns = list(dict.fromkeys(name for row in rows for name in row))

    @classmethod
    def read(cls, plan: SweepPlan, directory: Path, errors: Mapping[str, str] | None = None) -> SweepTable:
        """Gather the numbers from the directories of the runs."""
        rows = []
        for part in plan.parts:
            error = (errors or {}).get(part.name, "")
            found = _numbers(directory / part.name)
            if error and found["status"] in ("not started", "running", "stopped"):
                found["status"] = "failed"
            values = {k: v if isinstance(v, (str, int, float)) else str(v) for k, v in part.values.items()}
            rows.append({"run": part.name, **values, "status": found.pop("status"), "error": error, **found})
        return cls(rows, list(plan.vary), directory)

    def __getitem__(self, column: str) -> np.ndarray:
        """A column; numbers as floats, with NaN where a run has none."""
        self._check(column)
        values = [row.get(column) for row in self.rows]
        if any(isinstance(value, str) for value in values):
            return np.array(["" if value is None else str(value) for value in values], dtype=object)
        return np.array([np.nan if value is None else float(value) for value in values])

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        done = sum(row["status"] == "done" for row in self.rows)
        return f"<SweepTable: {done} of {len(self.rows)} runs done, over {', '.join(self.keys)}>"

    def _repr_html_(self) -> str:
        """A table, for notebooks."""
        shown = ["run", *self.keys, "status", "frames", "seconds"]
        head = "".join(f"<th>{escape(name)}</th>" for name in shown)
        body = "".join(
            "<tr>" + "".join(f"<td>{escape(brief(row.get(name)))}</td>" for name in shown) + "</tr>"
            for row in self.rows
        )
        return f"<table><tr>{head}</tr>{body}</table>"

    def failed(self) -> list[str]:
        """The names of runs that are not done."""
        return [row["run"] for row in self.rows if row["status"] != "done"]

    def write(self, file: str | Path) -> None:
        """Write the table as CSV; the file appears whole."""
        text = io.StringIO()
        writer = csv.DictWriter(text, self.columns, restval="", lineterminator="\n")
        writer.writeheader()
        writer.writerows({k: repr(v) if isinstance(v, float) else v for k, v in row.items()} for row in self.rows)
        write_text(file, text.getvalue())

    def plot(self, column: str, key: str, file: str | Path) -> Path:
        """Draw a column against a key. Runs that agree in all other keys form a line.

        Parameters
        ----------
        column : str
            Any column of numbers.
        key : str
            A key that varies, or another column.
        file : str or Path
            The picture: .png, .svg or .pdf.
        """
        need("pictures", "matplotlib")
        from matplotlib.figure import Figure

        file = Path(file)
        if file.suffix not in (".png", ".svg", ".pdf"):
            raise NonstickError(f"a plot is written as .png, .svg or .pdf, but the name is {str(file)!r}")
        y = self[column]
        if y.dtype == object:
            raise NonstickError(f"the column {column!r} holds words, and only numbers can be drawn")
        x = self[key]
        others = [k for k in self.keys if k != key]
        figure = Figure(figsize=(7, 4.2), layout="constrained")
        axes = figure.add_subplot()
        lines: dict[str, list[int]] = {}
        for number, row in enumerate(self.rows):
            if np.isfinite(y[number]):
                lines.setdefault(", ".join(f"{k} = {brief(row[k])}" for k in others), []).append(number)
        for label, members in lines.items():
            if x.dtype != object:
                members = sorted(members, key=lambda n: x[n])
            axes.plot([x[n] for n in members], y[members], "o-", label=label or None)
        axes.set(xlabel=key, ylabel=column.replace("_", " "))
        axes.grid(alpha=0.3)
        if others and lines:
            axes.legend(fontsize=8)
        with replacing(file) as partial:
            figure.savefig(partial, dpi=120)
        return file

    def _check(self, column: str) -> None:
        if column not in self.columns:
            import difflib

            close = difflib.get_close_matches(column, self.columns, n=1)
            hint = f"did you mean {close[0]!r}" if close else f"there are {', '.join(self.columns)}"
            raise NonstickError(f"the sweep has no column {column!r}; {hint}")


def brief(value: Any) -> str:
    """A value in a few characters."""
    return "" if value is None else f"{value:.4g}" if isinstance(value, float) else str(value)


def _numbers(directory: Path) -> dict[str, Any]:
    """Status and numbers of one run; a damaged directory has a status only."""
    from ..sim.run.loop import summary

    if not (directory / "meta.json").is_file():
        return {"status": "not started"}
    try:
        run = RunDirectory.open(directory)
        meta = run.meta()
        found: dict[str, Any] = {"status": run.status(), "frames": max(run.frames(), default=0)}
        if "seconds" in meta:
            found["seconds"] = float(meta["seconds"])
        numbers = summary(run) | {k: v for k, v in meta.get("summary", {}).items() if k == "peak_bytes"}
        found |= _flat(numbers)
        if (directory / PROBES).is_file():
            probes = read_probes(run)
            for name in probes:
                values = probes[name][np.isfinite(probes[name])]
                if values.size:
                    parts = {"last": values[-1], "min": values.min(), "max": values.max()}
                    found |= {f"{name}.{part}": float(value) for part, value in parts.items()}
        return found
    except NonstickError:
        return {"status": "damaged"}


def _flat(numbers: Mapping[str, Any], path: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in numbers.items():
        if isinstance(value, Mapping):
            found |= _flat(value, f"{path}{key}.")
        elif isinstance(value, (str, int, float)):
            found[f"{path}{key}"] = value
    return found
