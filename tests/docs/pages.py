"""Read a page, run what it shows: `python tests/docs/pages.py PAGE.md ["Title of a section"]` in an empty folder.

Fenced blocks of a page are taken in order, and share one namespace:

- `python`: is executed. If the next block is `text`, the output must be that text (`...` stands for anything).
- a block of any language after a line that ends in a file name and a colon, "`pool.toml`:", is written to that file;
- `console`: every line that begins with `$ nonstick` is run. Lines after it are the output, as above.

All other blocks are pictures of something and are not run.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_FENCE = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_FILE = re.compile(r"`([\w-]+\.\w+)`:$")
_TITLE = re.compile(r"^## (.+)$", re.MULTILINE)


@dataclass(frozen=True)
class Block:
    """One fenced block: its language, its text, the line it begins on, and the file it is, if it is one."""

    language: str
    text: str
    line: int
    file: str | None = None
    #: the title of its section (`## Title`)
    section: str = ""


def pages() -> list[Path]:
    """Every page a reader may open."""
    return [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]


def sections(page: Path) -> list[str]:
    """The titles of a page."""
    return _TITLE.findall(page.read_text(encoding="utf-8"))


def blocks(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    out = []
    for found in _FENCE.finditer(text):
        before = text[: found.start()].rstrip().rpartition("\n")[2]
        file = _FILE.search(before)
        line = text.count("\n", 0, found.start()) + 2
        title = _TITLE.findall(text[: found.start()])
        out.append(Block(found[1], found[2], line, file[1] if file else None, title[-1] if title else ""))
    return out


def runs(page: Path) -> bool:
    """Does the page hold anything that can be run?"""
    return any(block.language in ("python", "console") for block in blocks(page))


def run(page: Path, section: str | None = None) -> None:
    """Run a page, or one section of it, in the current folder; SystemExit with a message if it is wrong."""
    space: dict[str, object] = {"__name__": "__page__"}
    found = [block for block in blocks(page) if section in (None, block.section)]
    for block, after in zip(found, [*found[1:], None]):
        if block.file is not None:
            Path(block.file).write_text(block.text, encoding="utf-8")
        elif block.language == "python":
            # Empty lines in front, so that a traceback shows the line of the page.
            code = compile("\n" * (block.line - 1) + block.text, str(page), "exec")
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec(code, space)
            if after is not None and after.language == "text" and after.file is None:
                _compare(page, after.line, after.text, printed.getvalue())
        elif block.language == "console":
            _session(page, block)


def _session(page: Path, block: Block) -> None:
    lines = block.text.splitlines()
    for number, line in enumerate(lines):
        if not line.startswith("$ "):
            continue
        command = shlex.split(line[2:], comments=True)
        if command[0] != "nonstick":
            raise SystemExit(f"{page}:{block.line + number}: only nonstick is run, not {command[0]!r}")
        done = subprocess.run([sys.executable, "-m", *command], capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(f"{page}:{block.line + number}: exit code {done.returncode}\n{done.stderr}{done.stdout}")
        rest = lines[number + 1 :]
        shown = rest[: next((k for k, text in enumerate(rest) if text.startswith("$ ")), len(rest))]
        if shown:
            _compare(page, block.line + number + 1, "\n".join(shown) + "\n", done.stdout)


def _compare(page: Path, line: int, wanted: str, got: str) -> None:
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    if not doctest.OutputChecker().check_output(wanted, got, flags):
        raise SystemExit(f"{page}:{line}: the page shows\n{wanted}but the output is\n{got}")


if __name__ == "__main__":
    sys.path.insert(0, "")  # a page may import a file it has shown
    run(Path(sys.argv[1]).resolve(), *sys.argv[2:3])
