"""Draw the packages of nonstick and their imports: writes docs/images/architecture.svg.

`python docs/draw_architecture.py` draws it. With `--check` it only says whether the picture is up to date.

The picture is made from the source, not by hand. Every `import` in `src/nonstick` counts, also inside functions.
Imports for type checking do not run and do not count; `import_module`, which loads a name on first use, does not count
either. A box is a package, or a module at the top of the tree. A box stands one row above the highest box it imports
from. An arrow points from a package to one it imports. Arrows that follow from others are not drawn: if `sim` imports
`discretise` and `discretise` imports `grid`, there is no arrow from `sim` to `grid`. Pointing at a box shows all its
imports.

Packages that import each other in a circle would share a row and have a red frame; `tests/test_layers.py` allows none.
Only the standard library is used, and the same source always gives the same text.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "nonstick"
PICTURE = ROOT / "docs" / "images" / "architecture.svg"

#: front doors: they load everything else by name
DOORS = {"__init__", "__main__"}

#: a box, the space beside it, and the distance between rows
WIDE, HIGH, GAP, STEP = 132, 40, 28, 78

Graph = dict[str, set[str]]


def import_graph(source: Path = SOURCE) -> Graph:
    """Every package or top-level module with the packages it imports."""
    names = {unit(path, source) for path in source.rglob("*.py")} - DOORS
    graph: Graph = {name: set() for name in names}
    for path in sorted(source.rglob("*.py")):
        here = unit(path, source)
        if here in DOORS:
            continue
        package = ["nonstick", *path.relative_to(source).parent.parts]
        for target in imported(ast.parse(path.read_text(encoding="utf-8")), package):
            if target in names and target != here:
                graph[here].add(target)
    return graph


def unit(path: Path, source: Path) -> str:
    """`inverse` for every file of `inverse/`, `api` for `api.py`."""
    return path.relative_to(source).with_suffix("").parts[0]


def imported(node: ast.AST, package: list[str]) -> Iterator[str]:
    """Packages of nonstick that the code below `node` imports."""
    if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
        for child in node.orelse:
            yield from imported(child, package)
        return
    if isinstance(node, ast.ImportFrom):
        base = package[: len(package) - node.level + 1] if node.level else []
        full = [*base, *(node.module.split(".") if node.module else [])]
        if full == ["nonstick"]:
            yield from (alias.name for alias in node.names)
        elif full[:1] == ["nonstick"]:
            yield full[1]
    elif isinstance(node, ast.Import):
        yield from (alias.name.split(".")[1] for alias in node.names if alias.name.startswith("nonstick."))
    for child in ast.iter_child_nodes(node):
        yield from imported(child, package)


def reachable(graph: Graph, start: str) -> set[str]:
    """Everything that `start` imports, directly or through others."""
    found: set[str] = set()
    todo = list(graph[start])
    while todo:
        name = todo.pop()
        if name not in found:
            found.add(name)
            todo += graph[name]
    return found


def circles(graph: Graph) -> set[str]:
    """Packages that import themselves through others; the house has none."""
    return {name for name in graph if name in reachable(graph, name)}


def rows(graph: Graph) -> list[list[str]]:
    """The packages by row, lowest first: one row above the highest package imported."""
    below = {name: reachable(graph, name) for name in graph}
    height: dict[str, int] = {}

    def find(name: str) -> int:
        if name not in height:
            together = {other for other in below[name] if name in below[other]} | {name}
            supports = set().union(*(graph[other] for other in together)) - together
            level = 1 + max((find(other) for other in supports), default=-1)
            height.update(dict.fromkeys(together, level))
        return height[name]

    for name in graph:
        find(name)
    return [sorted(n for n in graph if height[n] == k) for k in range(1 + max(height.values(), default=-1))]


def needed(graph: Graph) -> Graph:
    """The arrows that do not follow from others."""
    out: Graph = {}
    for name, targets in graph.items():
        below = {target: reachable(graph, target) for target in targets}
        # In a circle everything follows from everything: arrows inside it are drawn, and explain no others.
        through = [found - {target} for target, found in below.items() if name not in found]
        out[name] = {target for target in targets if name in below[target] or not any(target in t for t in through)}
    return out


@dataclass(frozen=True)
class Bend:
    """Where an arrow that skips rows passes through one of them."""

    start: str
    end: str
    row: int


Item = str | Bend


def chains(levels: list[list[str]], arrows: Graph) -> list[list[Item]]:
    """Every arrow as a list of what it passes through, from the package that imports to the one imported."""
    row = {name: k for k, names in enumerate(levels) for name in names}
    return [
        [start, *(Bend(start, end, k) for k in range(row[start] - 1, row[end], -1)), end]
        for start in sorted(arrows)
        for end in sorted(arrows[start])
    ]


def places(levels: list[list[str]], lines: list[list[Item]]) -> dict[Item, float]:
    """How far right the centre of each box and bend lies, near what it is joined to; the middle is 0."""
    members: list[list[Item]] = [list(row) for row in levels]
    joined: dict[Item, list[Item]] = {name: [] for row in levels for name in row}
    for line in lines:
        for upper, lower in pairwise(line):
            joined.setdefault(upper, []).append(lower)
            joined.setdefault(lower, []).append(upper)
        for bend in line[1:-1]:
            members[bend.row].append(bend)  # type: ignore[union-attr]
    x: dict[Item, float] = {}
    for row in members:
        _spread(x, row)
    for _ in range(16):
        for row in (*members, *reversed(members)):
            near = {item: [x[other] for other in joined[item]] or [x[item]] for item in row}
            wish = {item: round(sum(at) / len(at), 6) for item, at in near.items()}
            _spread(x, sorted(row, key=lambda item: (wish[item], str(item))))
    return x


def _spread(x: dict[Item, float], row: list[Item]) -> None:
    """Put the members of a row side by side, the row in the middle."""
    widths = [WIDE + GAP if isinstance(item, str) else GAP for item in row]
    left = -sum(widths) / 2
    for item, width in zip(row, widths):
        x[item] = left + width / 2
        left += width


def draw(source: Path = SOURCE) -> str:
    """The picture, as SVG text."""
    graph = import_graph(source)
    levels, circular = rows(graph), circles(graph)
    lines = chains(levels, needed(graph))
    x = places(levels, lines)
    row = {name: k for k, names in enumerate(levels) for name in names}
    reach = max(abs(value) for value in x.values()) + (WIDE + GAP) / 2
    width, height = round(2 * reach), (len(levels) - 1) * STEP + HIGH + 2 * GAP

    def centre(item: Item) -> tuple[float, float]:
        level = row[item] if isinstance(item, str) else item.row
        return round(x[item] + reach, 1), GAP + (len(levels) - 1 - level) * STEP + HIGH / 2

    text = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif">',
        "<title>Packages of nonstick: an arrow points from a package to one it imports</title>",
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0 0L8 4L0 8z" fill="#5b6b7b"/></marker></defs>',
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
    ]
    for line in lines:
        points = [centre(item) for item in line]
        path, y = f"M{points[0][0]} {points[0][1] + HIGH / 2}", points[0][1] + HIGH / 2
        for k, (px, py) in enumerate(points[1:], 2):
            before, top = points[k - 2][0], py - HIGH / 2
            bend = abs(top - y) / 2
            path += f"C{before} {y + bend} {px} {top - bend} {px} {top}"
            y = top
            if k < len(points):  # straight through the row
                path, y = path + f"V{top + HIGH}", top + HIGH
        text.append(
            f'<path d="{path}" fill="none" stroke="#5b6b7b" stroke-width="1.2" stroke-opacity="0.75" '
            'marker-end="url(#tip)"/>'
        )
    for name in sorted(graph):
        text += _box(name, *centre(name), source, graph, name in circular)
    return "\n".join([*text, "</svg>", ""])


def _box(name: str, x: float, y: float, source: Path, graph: Graph, circular: bool) -> list[str]:
    """A package with the names of its subpackages; pointing at it shows its imports."""
    inside = sorted(path.parent.name for path in (source / name).glob("*/__init__.py"))
    hint = f"{name} imports {', '.join(sorted(graph[name])) or 'nothing'}"
    text = [
        f"<g><title>{escape(hint)}</title>",
        f'<rect x="{x - WIDE / 2}" y="{y - HIGH / 2}" width="{WIDE}" height="{HIGH}" rx="6" fill="#eaf3f8" '
        f'stroke="{"#c62828" if circular else "#2a6f97"}" stroke-width="1.4"/>',
        f'<text x="{x}" y="{y + (0 if inside else 5)}" text-anchor="middle" font-size="15" fill="#12303f">'
        f"{escape(name)}</text>",
    ]
    if inside:
        text.append(
            f'<text x="{x}" y="{y + 14}" text-anchor="middle" font-size="10" fill="#3d5a68">'
            f"{escape(' '.join(inside))}</text>"
        )
    return [*text, "</g>"]


def main(arguments: list[str]) -> int:
    """Write the picture; with `--check` only say whether the one in docs/images is up to date."""
    picture = draw()
    if "--check" in arguments:
        if PICTURE.read_text(encoding="utf-8") == picture:
            return 0
        print("docs/images/architecture.svg is out of date: python docs/draw_architecture.py", file=sys.stderr)
        return 1
    PICTURE.write_text(picture, encoding="utf-8")
    print(f"wrote {PICTURE.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
