"""The page of `nonstick --help`. It has the look of the pages of the commands, which `rich` makes; but to import `rich`
and what typer wants of it takes as long as all else together, and this page must come at once.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import textwrap
from collections.abc import Iterator, Sequence
from typing import Any

import typer
from typer.core import TyperGroup

_STYLES: dict[str, dict[str, Any]] = {
    "cyan": {"fg": "cyan"},
    "bold": {"bold": True},
    "name": {"fg": "cyan", "bold": True},
    "short": {"fg": "green", "bold": True},
    "kind": {"fg": "yellow", "bold": True},
    "dim": {"dim": True},
}
#: `[cyan]words[/cyan]`
_TAG = re.compile(r"\[(\w+)\](.*?)\[/\1\]")
#: what stands around a panel: corners, lines; and the same where there is no Unicode
_FRAME, _PLAIN_FRAME = tuple("╭─╮│╰╯"), tuple("+-+|++")


class Front(TyperGroup):
    """The group of all commands."""

    def format_help(self, ctx: Any, formatter: object) -> None:
        """Print the page; typer calls this for `--help`, and if there is no command."""
        width = max(shutil.get_terminal_size().columns, 40)
        usage = self.get_usage(ctx).replace("Usage:", "[kind]Usage:[/kind]")
        options = [p for p in self.get_params(ctx) if not getattr(p, "hidden", False)]
        commands = [c for name in self.list_commands(ctx) if (c := self.get_command(ctx, name)) and not c.hidden]
        page = ["", *_indented(usage, width), "", *_indented(self.help, width), ""]
        page += _panel("Options", ("name", "short", "kind"), [_words(p) for p in options], width)
        page += _panel("Commands", ("name",), [(c.name or "", _first(c.help)) for c in commands], width)
        page += ["", *_indented(self.epilog, width)]
        print("\n".join(page))


def _words(option: Any) -> tuple[str, ...]:
    """The columns of an option: long names, short names, what it takes, what it means."""
    long = ",".join(name for name in option.opts if name.startswith("--"))
    short = ",".join(name for name in option.opts if not name.startswith("--"))
    variable = getattr(option, "envvar", None)
    meaning = getattr(option, "help", None) or ""
    return long, short, option.metavar or "", f"{meaning} [env var: {variable}]" if variable else meaning


def _first(text: str | None) -> str:
    """The first paragraph, as one line."""
    return " ".join((text or "").split("\n\n")[0].split())


def _indented(text: str | None, width: int) -> Iterator[str]:
    """Lines as they were written, broken only where the terminal is too narrow for them."""
    for line in (text or "").strip().splitlines():
        bare = _TAG.sub(r"\2", line)
        parts = textwrap.wrap(bare, width - 2) if len(bare) > width - 2 else [_TAG.sub(_in_colour, line)]
        yield from (f" {part}".rstrip() for part in parts)


def _panel(title: str, styles: Sequence[str], rows: Sequence[tuple[str, ...]], width: int) -> Iterator[str]:
    """Rows in a frame: columns of words, one for each style, and a last one of text that is broken into lines."""
    left, line, right, side, low_left, low_right = _FRAME if _unicode() else _PLAIN_FRAME
    wide = [max(len(word) for word in column) for column in zip(*rows)][:-1]
    gap = sum(w + 2 for w in wide)
    room = max(width - 4 - gap, 10)
    yield f"{_style('dim', left + line)} {title} {_style('dim', line * (width - len(title) - 5) + right)}"
    for *words, text in rows:
        before = "".join(_style(s, word) + " " * (w + 2 - len(word)) for s, word, w in zip(styles, words, wide))
        for part in textwrap.wrap(text, room) or [""]:
            yield f"{_style('dim', side)} {before}{part:{room}} {_style('dim', side)}"
            before = " " * gap
    yield _style("dim", low_left + line * (width - 2) + low_right)


def _colours() -> bool:
    knows = os.name != "nt" or "WT_SESSION" in os.environ  # old consoles of Windows show the codes of colours
    return sys.stdout.isatty() and knows and not os.environ.get("NO_COLOR")


def _unicode() -> bool:
    return "utf" in (getattr(sys.stdout, "encoding", None) or "").lower()


def _style(name: str, text: str) -> str:
    return typer.style(text, **_STYLES[name]) if text and _colours() else text


def _in_colour(found: re.Match[str]) -> str:
    return _style(found[1], found[2])
