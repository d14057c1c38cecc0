"""The messages of commands on stderr while they work, above all that kernels are being compiled: the command would
otherwise seem to hang.

On a terminal, a line with a spinner counts the kernels. In a pipe there is one line before, one every ten seconds, and
one line after. If all kernels are in the cache, there is no message. Nothing goes to stdout.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console
    from rich.status import Status


#: seconds between lines about a compilation in a pipe
BEAT = 10.0


@cache
def screen() -> Console:
    """The one console on stderr; progress bars and notices must share it, or they overwrite each other."""
    from rich.console import Console

    return Console(stderr=True)


class CompilingNotice(logging.Handler):
    """Shows what `nonstick.kernels.compiling` logs."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self._kernels, self._seconds = 0, 0.0
        self._told: tuple[int, float] | None = None
        self._line: Status | None = None
        self._kept = True
        self._last = time.monotonic()

    def emit(self, record: logging.LogRecord) -> None:
        if record.levelno >= logging.INFO:
            self._kept = self._kept and record.__dict__.get("kept", True)
            self._last = time.monotonic()
            _print(record.getMessage())
            return
        # counts of the whole process; this notice reports only the kernels compiled since it began
        self._kernels, self._seconds = record.__dict__["kernels"], record.__dict__["seconds"]
        self._told = self._told or (self._kernels, self._seconds)
        if not record.__dict__["unfinished"]:
            self._stop()
        elif screen().is_terminal:
            text = f"compiling kernels, {self._kernels - self._told[0]} done"
            if self._line is None:
                self._line = screen().status(text, refresh_per_second=4)
                self._line.start()
            self._line.update(text)
        elif time.monotonic() - self._last > BEAT:
            self._last = time.monotonic()
            _print(f"compiling kernels, {self._kernels - self._told[0]} done")

    def close_off(self) -> None:
        """Report the kernels that were compiled since the last report, if there are any."""
        self._stop()
        if self._told is not None:
            kernels, seconds = self._kernels - self._told[0], self._seconds - self._told[1]
            if kernels:
                what = "1 kernel" if kernels == 1 else f"{kernels} kernels"
                after = "the next run starts without this wait" if self._kept else "the next run compiles them again"
                _print(f"compiled {what} in {seconds:.1f} s; {after}")
            self._told = (self._kernels, self._seconds)

    def _stop(self) -> None:
        if self._line is not None:
            self._line.stop()
            self._line = None


def _print(text: str) -> None:
    screen().print(text, markup=False, highlight=False, soft_wrap=True)


_notices: list[CompilingNotice] = []


@contextmanager
def showing_compilation() -> Iterator[None]:
    """Report kernels that are compiled in this block."""
    log = logging.getLogger("nonstick.kernels")
    notice, level = CompilingNotice(), log.level
    log.addHandler(notice)
    log.setLevel(logging.DEBUG)
    _notices.append(notice)
    try:
        yield
    finally:
        _notices.remove(notice)
        log.setLevel(level)
        log.removeHandler(notice)
        notice.close_off()


def close_off() -> None:
    """Before other output: end the notice of a compilation, if there is one."""
    for notice in _notices:
        notice.close_off()
