"""Write docs/papers.md, every table and figure of the five papers beside ours, from the rows of docs/papers.toml.

    python docs/make_papers.py

A row has `item` and `what`; `theirs` and `their_size`, the paper's numbers; `ours` and `our_size`; `commands` that make
ours, with the `version` of the source (`nonstick.bench.row.version`); `pictures` below docs/images; a `status`:
"reproduced", "differs" or "not run", the last two with `because`.
"""

from __future__ import annotations

import argparse
import re
import tomllib
from pathlib import Path
from unicodedata import normalize

DOCS = Path(__file__).parent
ROWS, PAGE = DOCS / "papers.toml", DOCS / "papers.md"
STATUSES = ("reproduced", "differs", "not run")
HEAD = """\
# The papers, table by table

Every table and figure of the five papers: the paper's numbers, ours, the size of each, the command, the version of the
source that ran it, and whether it agrees. Counts are in the unit of the paper. The papers' seconds are from other
machines, so compare ratios. Ours are processor seconds of one thread unless the row says otherwise. A version is that
of the package and a hash of its source, as in every row that `nonstick bench` writes. `docs/make_papers.py` writes this
page from docs/papers.toml; `docs/draw_papers.py` draws the pictures of liquid, on coarser grids than the papers',
`docs/draw_plots.py` curves and fields, `docs/draw_stencils.py` stencils.

`nonstick bench … --json rows.json --resume` continues a table that was stopped, so long tables run in pieces.
"""


def papers() -> list[dict]:
    """The papers with their rows."""
    return tomllib.loads(ROWS.read_text(encoding="utf-8"))["paper"]


def overview(found: list[dict]) -> list[str]:
    """How many rows of each paper have which status."""
    lines = [f"| paper | rows | {' | '.join(STATUSES)} |", "|---|---|" + "---|" * len(STATUSES)]
    for paper in found:
        counts = [sum(row["status"] == status for row in paper["row"]) for status in STATUSES]
        link = f"[{paper['name']}](#{anchor(paper['name'])})"
        lines.append(f"| {link} | {len(paper['row'])} | {' | '.join(map(str, counts))} |")
    return lines


def anchor(title: str) -> str:
    """The address of a heading on its page, as Markdown makes it."""
    plain = normalize("NFKD", title).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[\s-]+", "-", re.sub(r"[^\w\s-]", "", plain).strip())


def block(row: dict) -> list[str]:
    """One table or figure."""
    lines = [f"### {row['item']}: {row['what']}", ""]
    for side, size, text in (
        ("paper", row.get("their_size"), row.get("theirs")), ("ours", row.get("our_size"), row.get("ours")),
    ):  # fmt: skip
        if text:
            lines.append(f"- {side}{f' ({size})' if size else ''}: {text}")
    lines.append(f"- **{row['status']}**" + (f", because {row['because']}" if "because" in row else ""))
    if "commands" in row:
        made = f" · version {row['version']}" if "version" in row else ""
        lines.append("- " + " · ".join(f"`{command}`" for command in row["commands"]) + made)
    lines.append("")
    for picture in row.get("pictures", ()):
        lines += [f"![{row['item']}: {row['what']}](images/{picture})", ""]
    return lines


def page() -> str:
    """The whole page."""
    found = papers()
    lines = [*HEAD.splitlines(), "", *overview(found), ""]
    for paper in found:
        lines += [f"## {paper['name']}", "", paper["text"], ""]
        for row in paper["row"]:
            lines += block(row)
    return "\n".join(lines).rstrip() + "\n"


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    PAGE.write_text(page(), encoding="utf-8")
    print(PAGE)
