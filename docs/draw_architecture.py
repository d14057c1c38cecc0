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
from html import escape
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "nonstick"
PICTURE = ROOT / "docs" / "images" / "architecture.svg"

#: front doors: they load everything else by name
DOORS = {"__init__", "__main__"}

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
        through = set().union(*(reachable(graph, t) - {t, name} for t in targets)) if targets else set()
        circle = {t for t in targets if name in reachable(graph, t)}
        out[name] = (targets - through) | circle
    return out


def arranged(levels: list[list[str]], arrows: Graph) -> dict[str, tuple[float, int]]:
    """The place of every box: how far right (0 to 1) and in which row, each near the boxes it is joined to."""
    x = {name: (k + 1) / (len(row) + 1) for row in levels for k, name in enumerate(row)}
    joined: Graph = {name: set(arrows[name]) for name in arrows}
    for name, targets in arrows.items():
        for target in targets:
            joined[target].add(name)
    for _ in range(12):
        for row in levels:
            wish = {name: sum(x[o] for o in sorted(joined[name])) / len(joined[name]) if joined[name] else x[name]
                    for name in row}  # fmt: skip
            for k, name in enumerate(sorted(row, key=lambda n: (round(wish[n], 9), n))):
                x[name] = (k + 1) / (len(row) + 1)
    return {name: (x[name], level) for level, row in enumerate(levels) for name in row}


def draw(source: Path = SOURCE) -> str:
    """The picture, as SVG text."""
    graph = import_graph(source)
    arrows, levels, circular = needed(graph), rows(graph), circles(graph)
    place = arranged(levels, arrows)
    wide, high, step, margin = 132, 40, 78, 24
    width = 2 * margin + max(4, max(map(len, levels))) * (wide + 36)
    height = 2 * margin + (len(levels) - 1) * step + high

    def centre(name: str) -> tuple[float, float]:
        across, level = place[name]
        return round(margin + across * (width - 2 * margin), 1), margin + (len(levels) - 1 - level) * step + high / 2

    text = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif">',
        "<title>Packages of nonstick: an arrow points from a package to one it imports</title>",
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0 0L8 4L0 8z" fill="#5b6b7b"/></marker></defs>',
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
    ]
    for name in sorted(graph):
        for target in sorted(arrows[name]):
            (x0, y0), (x1, y1) = centre(name), centre(target)
            y0, y1 = y0 + high / 2, y1 - high / 2
            bend = min(step, abs(y1 - y0)) / 2
            text.append(
                f'<path d="M{x0} {y0}C{x0} {y0 + bend} {x1} {y1 - bend} {x1} {y1}" fill="none" stroke="#5b6b7b" '
                'stroke-width="1.2" stroke-opacity="0.75" marker-end="url(#tip)"/>'
            )
    for name in sorted(graph):
        x, y = centre(name)
        inside = sorted(p.parent.name for p in (source / name).glob("*/__init__.py"))
        frame = "#c62828" if name in circular else "#2a6f97"
        hint = f"{name} imports {', '.join(sorted(graph[name])) or 'nothing'}"
        text.append(
            f"<g><title>{escape(hint)}</title>"
            f'<rect x="{x - wide / 2}" y="{y - high / 2}" width="{wide}" height="{high}" rx="6" fill="#eaf3f8" '
            f'stroke="{frame}" stroke-width="1.4"/>'
            f'<text x="{x}" y="{y + (0 if inside else 5)}" text-anchor="middle" font-size="15" fill="#12303f">'
            f"{escape(name)}</text>"
        )
        if inside:
            text.append(
                f'<text x="{x}" y="{y + 14}" text-anchor="middle" font-size="10" fill="#3d5a68">'
                f"{escape(' '.join(inside))}</text>"
            )
        text.append("</g>")
    return "\n".join([*text, "</svg>", ""])


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
