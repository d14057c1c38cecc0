"""Run the commands of docs/papers.toml that the present source has not run: `make papers`.

    python docs/run_papers.py [--minutes M] [--list]

The shortest commands come first. What a command printed, its JSON rows and how long it took are in runs/papers, so a
run that was stopped continues where it was. Counts that were measured go to docs/papers.json, with the version of the
source, and docs/papers.md is written again. How long a command will take, in processor seconds, is what it took last,
here or as docs/papers.json says, or is guessed from its largest grid.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import os
import re
import shlex
import subprocess
import sys
import time
from pathlib import Path

import make_papers

from nonstick.bench.row import version
from nonstick.files.atomic import write_text

ROOT = Path(__file__).parents[1]
RUNS = ROOT / "runs" / "papers"
#: processor seconds for a cell of the largest grid: one method on one problem, runs in 3D, runs in 2D
SINGLE, RUN, FLAT = 1e-5, 1.5e-4, 2e-3
ALONE = ("sphere3d", "sphere-cuboid3d", "double-sphere3d", "visc", "tb-table1", "tb-table2", "tb-table3")


def commands() -> dict[str, list[tuple[str, dict]]]:
    """Every command, with the rows (and their papers) that it is for."""
    out: dict[str, list[tuple[str, dict]]] = {}
    for paper in make_papers.papers():
        for row in paper["row"]:
            for command in row.get("commands", ()):
                out.setdefault(command, []).append((paper["name"], row))
    return out


def folder(command: str) -> Path:
    """Where a command keeps its output; tables always draw their figures, so asking for them changes nothing."""
    return RUNS / hashlib.sha256(command.replace(" --figures DIR", "").encode()).hexdigest()[:10]


def record(command: str) -> dict:
    """What is known of the last run of a command, here or elsewhere."""
    file = folder(command) / "done.json"
    if file.exists():
        return json.loads(file.read_text(encoding="utf-8"))
    return make_papers.measured()["commands"].get(command, {})


def seconds(command: str, rows: list[tuple[str, dict]]) -> float:
    """How long it will take."""
    known = record(command).get("seconds")
    if known is not None:
        return known
    words = shlex.split(command)
    given = [int(n) for n in re.findall(r"(?:--sizes|--cells)((?: \d+)+)|:(\d+)", command) for n in " ".join(n).split()]
    size, flat = max(given, default=64), not any("³" in row.get("our_size", "") for _, row in rows)
    alone = words[1] == "docs/draw_plots.py" or words[2].startswith(ALONE)
    methods = re.search(r"--methods((?: (?!-)\S+)+)", command)
    each = SINGLE * (len(methods[1].split()) if methods else 8) if alone else FLAT if flat else RUN
    return 5.0 + each * size ** (2 if flat else 3)


def started(command: str, directory: Path) -> list[str]:
    """The words to start; tables keep their rows, and studies their results, in the directory."""
    words = [str(directory) if word == "DIR" else word for word in shlex.split(command)]
    if words[0] == "python":
        out = ["--out", str(directory)] if "as_printed" in words[1] else []
        return [sys.executable, str(ROOT / words[1]), *out, *words[2:]]
    extra: list[str] = []
    if words[1] == "bench":
        extra = ["--json", str(directory / "rows.json"), "--resume"]
        extra += [] if "--figures" in words else ["--figures", str(directory)]
    return [sys.executable, "-m", "nonstick", *words[1:], *extra]


def same(row: dict, line: dict, n: int) -> bool:
    """Whether a row of a table is the one that a line of papers.toml names."""
    case = row.get("case", "")
    label = f"{row.get('method')}{' from zero' if case.endswith('from zero') else ''}"
    return (label, row.get("n")) == (line["method"], n) and ("case" not in line or case.endswith(line["case"]))


def missed(row: dict) -> bool:
    """Whether a method that should have reached the tolerance has not: such a count means nothing."""
    return row.get("must_converge", True) and row.get("converged") is False


def value(row: dict, unit: str) -> object:
    return row[unit] if row.get(unit) is not None else row.get("extra", {}).get(unit)


def owner(row: dict, method: str, n: int) -> str | None:
    """The command that makes a number of a row: the first that names its size and method; later ones are variants."""
    for command in row.get("commands", ()):
        methods = re.search(r"--methods((?: (?!-)\S+)+)", command)
        sizes = re.search(r"--sizes((?: \d+)+)", command)
        if sizes and str(n) in sizes[1].split() and (not methods or method.split()[0] in methods[1].split()):
            return command
    return None


def measured(command: str, rows: list[tuple[str, dict]]) -> dict[str, dict]:
    """The counts of these rows that a run has measured."""
    directory = folder(command)
    found = {}
    for file in directory.glob("*.json"):
        if file.name == "done.json":
            continue
        made = [row for row in json.loads(file.read_text(encoding="utf-8")) if "(published)" not in row.get("case", "")]
        for paper, row in rows:
            for line in row.get("counts", ()):
                for n in row["sizes"]:
                    if owner(row, line["method"], n) != command:
                        continue
                    rows_of = [r for r in made if same(r, line, n) and not missed(r)]
                    got = value(rows_of[0], line["unit"]) if len(rows_of) == 1 else None  # several parts: none
                    if isinstance(got, (int, float)) and math.isfinite(got):
                        name = make_papers.key(paper, row, line, n)
                        found[name] = {"value": float(f"{got:.4g}"), "version": rows_of[0].get("version") or version()}
    return found


def keep(command: str, found: dict[str, dict]) -> None:
    """Add a run and its counts to docs/papers.json, and write the page again."""
    known = make_papers.measured()
    known["counts"] |= found
    known["commands"][command] = record(command)
    ordered = {part: dict(sorted(of.items())) for part, of in sorted(known.items())}
    write_text(make_papers.MEASURED, json.dumps(ordered, ensure_ascii=False, indent=0) + "\n")
    write_text(make_papers.PAGE, make_papers.page())


def children() -> float:
    """Processor seconds of the programs that were run so far."""
    used = os.times()
    return used.children_user + used.children_system


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=math.inf, help="start no command after so many minutes")
    parser.add_argument("--list", action="store_true", help="say what would run, and how long it may take")
    given = parser.parse_args()
    now, every = version(), commands()
    left = [command for command in every if record(command).get("version") != now]
    left.sort(key=lambda command: seconds(command, every[command]))
    hours = sum({folder(command): seconds(command, every[command]) for command in left}.values()) / 3600
    print(f"{len(every) - len(left)} of {len(every)} commands were run by {now}, {hours:.1f} processor hours are left")
    began = time.monotonic()
    for k, command in enumerate(left, 1):
        guess = seconds(command, every[command])
        if record(command).get("version") == now:  # the same command with its figures
            keep(command, measured(command, every[command]))
            continue
        if given.list:
            print(f"{guess / 60:7.1f} min  {command}")
            continue
        if time.monotonic() - began + guess > 60 * given.minutes:
            print(f"{given.minutes:g} minutes are over: {len(left) - k + 1} commands are left")
            break
        print(f"{k} of {len(left)}, about {guess / 60:.1f} minutes: {command}", flush=True)
        directory = folder(command)
        directory.mkdir(parents=True, exist_ok=True)
        at = children()
        with (directory / "output.txt").open("w", encoding="utf-8") as out:
            code = subprocess.run(
                started(command, directory), cwd=ROOT, stdout=out, stderr=subprocess.STDOUT
            ).returncode
        if code:
            print(f"    it ended with {code}: see {directory / 'output.txt'}")
            continue
        done = {"version": now, "seconds": round(children() - at, 1)}
        (directory / "done.json").write_text(json.dumps(done), encoding="utf-8")
        keep(command, measured(command, every[command]))


if __name__ == "__main__":
    main()
