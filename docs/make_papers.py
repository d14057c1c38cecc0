"""Write docs/papers.md, every table and figure of the five papers beside ours, from the rows of docs/papers.toml.

    python docs/make_papers.py

A row has `item` and `what`; `theirs` and `their_size`, the paper's words; `ours` and `our_size`; `counts`, the numbers
of a table: one line for each method of the paper (`paper`, `theirs`) and ours (`method`, `ours`), one number for each
of the `sizes`, in the `unit` (of the row, or of the line); `case`, where one label names several problems;
`their_sizes`, where the paper's grids are others (0: the paper has none); `table`, numbers of another shape, a list of
lines of words; `commands` that make ours, with the `version` of the source (`nonstick.bench.row.version`); `pictures`
below docs/images; `short` and `because`, why it differs. `make papers` keeps in docs/papers.json the counts that it has
measured, which replace those of the row, and for every command the version that ran it and its processor seconds. The
`version` of a row is that of its words and pictures: somebody has looked at them.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import tomllib
from pathlib import Path
from unicodedata import normalize

from nonstick import __version__

DOCS = Path(__file__).parent
ROWS, PAGE, MEASURED = DOCS / "papers.toml", DOCS / "papers.md", DOCS / "papers.json"
STATUSES = ("reproduced", "better", "worse", "another set-up", "not run")
#: numbers agree within this part of the paper's, or within this many iterations
PART, ITERATIONS = 0.25, 2.0
COUNTED = ("iterations", "outer_iterations")
UNITS = {"outer_iterations": "outer iterations", "cpu_seconds": "seconds"}
HEAD = f"""\
# The papers, table by table

Every table and figure of the five papers beside ours. Counts are in the unit of the paper. The papers' seconds are of
other machines and are not compared; ours are processor seconds of one thread.

- **reproduced**: what the paper says holds here; counts agree within {100 * PART:.0f} %, or within {ITERATIONS:.0f}
  iterations (not outer ones).
- **better**: we need fewer iterations, or a method works here that fails there; no count is higher.
- **worse**: some count of ours is higher, or something works less well.
- **another set-up**: the inputs differ (a mesh that may not be shipped, no GPU, numbers that the paper does not give),
  so the numbers cannot be compared.

Every row says below, folded, the numbers, the commands with the processor seconds of their last run, and the version of
the source. `make papers` runs all commands that the present source has not run, the shortest first, and may be stopped
at any time.
"""


def papers() -> list[dict]:
    """The papers with their rows, with the numbers that were measured again."""
    found = tomllib.loads(ROWS.read_text(encoding="utf-8"))["paper"]
    again, runs = measured()["counts"], measured()["commands"]
    for paper in found:
        for row in paper["row"]:
            row["runs"] = {command: runs[command] for command in row.get("commands", ()) if command in runs}
            for line in row.get("counts", ()):
                line.setdefault("unit", row["unit"])
                for k, n in enumerate(row["sizes"]):
                    new = again.get(key(paper["name"], row, line, n))
                    if new is not None:
                        line["ours"][k] = new["value"]
                        row.setdefault("versions", {}).setdefault(new["version"], []).append((line["method"], n))
            row["status"] = row.get("status") or judged(row)
    return found


def measured() -> dict[str, dict[str, dict]]:
    """What `make papers` has found: `counts` and `commands`."""
    if not MEASURED.exists():
        return {"commands": {}, "counts": {}}
    return json.loads(MEASURED.read_text(encoding="utf-8"))


def key(paper: str, row: dict, line: dict, n: int) -> str:
    """The name of a number in docs/papers.json."""
    more = [line["case"]] if "case" in line else []
    more += [line["unit"]] if line["unit"] != row["unit"] else []
    return ", ".join([paper, row["item"], line["method"], *more, str(n)])


def verdict(theirs: list[float], ours: list[float], slack: float = ITERATIONS) -> str:
    """The words "same", "fewer" or "more": how our counts differ from the paper's, over the sizes that both have."""
    pairs = [(t, o) for t, o in zip(theirs, ours) if not (math.isnan(t) or math.isnan(o))]
    apart = [o - t for t, o in pairs if abs(o - t) > max(PART * t, slack)]
    if not pairs or not apart:
        return "same" if pairs else ""
    return "more" if max(apart) > 0.0 else "fewer"


def compared(line: dict) -> str:
    """The verdict on a line of counts, "" for other units; outer iterations are few and have no slack."""
    if line["unit"] not in COUNTED:
        return ""
    return verdict(line["theirs"], line["ours"], ITERATIONS if line["unit"] == "iterations" else 0.0)


def judged(row: dict) -> str:
    """The status of a row by its counts."""
    found = {compared(line) for line in row["counts"]}
    return "worse" if "more" in found else "better" if "fewer" in found else "reproduced"


def overview(found: list[dict]) -> list[str]:
    """How many rows of each paper have which status."""
    lines = [f"| paper | rows | {' | '.join(STATUSES)} |", "|---|---|" + "---|" * len(STATUSES)]
    for paper in found:
        counts = [sum(row["status"] == status for row in paper["row"]) for status in STATUSES]
        link = f"[{paper['name']}](#{anchor(paper['name'])})"
        lines.append(f"| {link} | {len(paper['row'])} | {' | '.join(map(str, counts))} |")
    return lines


def differences(found: list[dict]) -> list[str]:
    """What is not reproduced, and why in ten words; rows with one reason in one line."""
    lines = ["| paper | what | status | why |", "|---|---|---|---|"]
    for paper in found:
        reasons: dict[tuple[str, str], list[str]] = {}
        for row in paper["row"]:
            if row["status"] != "reproduced":
                reasons.setdefault((row["status"], row["short"]), []).append(row["item"])
        for (status, short), items in reasons.items():
            lines.append(f"| {paper['name']} | {joined(items)} | {status} | {short} |")
    return lines


def joined(items: list[str]) -> str:
    """ "Table 1", "Table 2" as "Tables 1, 2"."""
    out = []
    for kind in ("Table", "Figure"):
        numbers = [item.split()[1] for item in items if item.startswith(f"{kind} ")]
        if numbers:
            out.append(f"{kind}{'s' if len(numbers) > 1 else ''} {', '.join(numbers)}")
    return "; ".join(out + [item for item in items if not item.startswith(("Table ", "Figure "))])


def anchor(title: str) -> str:
    """The address of a heading on its page, as Markdown makes it."""
    plain = normalize("NFKD", title).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[\s-]+", "-", re.sub(r"[^\w\s-]", "", plain).strip())


def table(row: dict) -> list[str]:
    """The counts of a row: the paper's number and ours for every size."""
    power = {0: " cells", 2: "²", 3: "³"}[row["dimension"]]
    judge = row["status"] != "another set-up" and any(line["unit"] in COUNTED for line in row["counts"])
    theirs = row.get("their_sizes", row["sizes"])
    heads = [f"{n}{power}" if t in (0, n) else f"{t}{power} / {n}{power}" for t, n in zip(theirs, row["sizes"])]
    heads += ["ours"] * judge
    lines = [f"| paper / ours, {unit(row)} | {' | '.join(heads)} |", "|---|" + "---|" * len(heads)]
    for line in row["counts"]:
        theirs = line["theirs"] or [math.nan] * len(row["sizes"])
        cells = [f"{number(t)} / **{number(o)}**" for t, o in zip(theirs, line["ours"])]
        name = f"`{line['method']}`" + (f" in {line['case']}" if "case" in line else "")
        name = f"{line['paper']} / {name}" if line["paper"] else name
        name += f", {unit(line)}" if line["unit"] != row["unit"] else ""
        lines.append(f"| {name} | {' | '.join(cells + [compared(line)] * judge)} |")
    return [*lines, ""]


def unit(of: dict) -> str:
    return UNITS.get(of["unit"], of["unit"])


def words(lines: list[list[str]]) -> list[str]:
    """A table of another shape; its first line is the head."""
    head, *rest = [f"| {' | '.join(line)} |" for line in lines]
    return [head, "|" + "---|" * len(lines[0]), *rest, ""]


def number(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:.3g}" if value < 1000 else f"{value:.0f}"


def block(row: dict) -> list[str]:
    """One table or figure, folded."""
    lines = [
        '<details markdown="1">',
        f"<summary><b>{row['item']}</b>: {plain(row['what'])} · {row['status']}</summary>",
        "",
    ]
    lines += table(row) if "counts" in row else []
    lines += words(row["table"]) if "table" in row else []
    for side, size, text in (
        ("paper", row.get("their_size"), row.get("theirs")), ("ours", row.get("our_size"), row.get("ours")),
    ):  # fmt: skip
        if text or size:
            lines.append(f"- {side}{f' ({size})' if size else ''}{f': {text}' if text else ''}")
    lines.append(f"- **{row['status']}**" + (f", because {row['because']}" if "because" in row else ""))
    if "commands" in row:
        made = f" · version {row['version']}" if "version" in row else ""
        lines.append("- " + " · ".join(ran(command, row["runs"].get(command)) for command in row["commands"]) + made)
    for version, cells in row.get("versions", {}).items():
        sizes = ", ".join(sorted({str(n) for _, n in cells}, key=int))
        lines.append(
            f"- measured again with version {version}: {', '.join(sorted({f'`{m}`' for m, _ in cells}))} at {sizes}"
        )
    lines.append("")
    for picture in row.get("pictures", ()):
        lines += [f"![{row['item']}: {row['what']}](images/{picture})", ""]
    return [*lines, "</details>", ""]


def ran(command: str, run: dict | None) -> str:
    """A command, and what its last run took."""
    if run is None:
        return f"`{command}`"
    return f"`{command}` (" + (f"{run['seconds']:.0f} s with " if "seconds" in run else "") + f"{run['version']})"


def plain(text: str) -> str:
    """Text for a line of HTML."""
    return re.sub(r"`([^`]*)`", r"<code>\1</code>", text)


def versions(row: dict) -> set[str]:
    """The versions of the source that measured a row."""
    runs = {run["version"] for run in row["runs"].values()}
    return runs | set(re.findall(r"\d+\.\d+\.\d+\+\w+", row.get("version", ""))) | set(row.get("versions", {}))


def page() -> str:
    """The whole page."""
    found = papers()
    rows = [versions(row) for paper in found for row in paper["row"]]
    newest = __version__.rpartition(".")[0]
    present = sum(bool(of) and all(version.startswith(f"{newest}.") for version in of) for of in rows)
    lines = [
        *HEAD.splitlines(),
        "",
        *overview(found),
        "",
        "What is not reproduced, and why:",
        "",
        *differences(found),
        "",
    ]
    measured = f"{len(set().union(*rows))} versions of the source were measured"
    lines += [f"{measured}; {present} of the {len(rows)} rows are wholly of version {newest}.", ""]
    for paper in found:
        lines += [f"## {paper['name']}", "", paper["text"], ""]
        for row in paper["row"]:
            lines += block(row)
    return "\n".join(lines).rstrip() + "\n"


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    PAGE.write_text(page(), encoding="utf-8")
    print(PAGE)
