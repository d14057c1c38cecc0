"""What all commands write: plain messages, tables, errors of one sentence, exit codes; and how Ctrl-C ends them.

While kernels are compiled, a notice says so on stderr: the command would otherwise seem to hang. On a terminal, a line
with a spinner counts the kernels. In a pipe there is one line before, one every ten seconds, and one line after. If all
kernels are in the cache, there is no message. Nothing goes to stdout.

Ctrl-C ends a command within a second. Python serves a signal between two steps of its own code. Inside compiled code,
while a kernel is compiled or a matrix is factorised, that can take many seconds. A thread watches for this: a Ctrl-C
that is not served in time ends the process at once. Nothing is lost by that: files are replaced whole or not at all,
what was half written is deleted, and a run that was killed resumes. Python also drops a Ctrl-C that it serves where no
exception can pass, such as in the clean-up of an object; compilers do much of that. Such a Ctrl-C is sent again.
"""

from __future__ import annotations

import errno
import io
import json
import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any, NoReturn, Self

from ..errors import NonstickError
from ..files.atomic import remove_own_partial
from ..parallel.launch import ranks

if TYPE_CHECKING:
    from rich.console import Console
    from rich.status import Status


#: exit codes
BAD_INPUT = 2
NOT_CONVERGED = 2
#: characters of a message
LONGEST = 2000
#: the exit code that typer gives on Ctrl-C, without a message
_TYPER_INTERRUPTED = 130


def plain(message: str) -> str:
    """A message without what terminals obey: names in files may hold escape sequences. Very long ones are cut."""
    shown = message if len(message) <= LONGEST else f"{message[:LONGEST]} …"
    return "".join(c if c.isprintable() or c == "\n" else ascii(c)[1:-1] for c in shown)


def forgiving_streams() -> None:
    """On a terminal or in a file that is not UTF-8, characters that do not exist there are shown as `?`."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def say(message: str) -> None:
    """Print a line for people to stdout."""
    close_off()
    print(plain(message))


def fail(message: str) -> NoReturn:
    """Exit with one sentence and the exit code of bad input."""
    print(f"nonstick: {plain(message)}", file=sys.stderr)
    raise SystemExit(BAD_INPUT)


def _reason(error: OSError) -> str:
    """What cannot be used, and why; a folder that is missing is named."""
    where = os.fsdecode(error.filename) if isinstance(error.filename, (str, bytes, os.PathLike)) else ""
    folder = os.path.dirname(where)
    if error.errno == errno.ENOENT and folder and not os.path.isdir(folder):
        return f"cannot use {where}: there is no folder {folder}; make it first"
    return f"cannot use {where}: {error.strerror or error}" if where else f"cannot continue: {error.strerror or error}"


def _interrupted() -> NoReturn:
    print("nonstick: interrupted", file=sys.stderr)
    raise SystemExit(INTERRUPTED) from None


def guarded(command: Callable[[], object]) -> None:
    """Run a command; a mistake of the user ends in one sentence, never in a traceback."""
    try:
        with prompt_interrupt():
            command()
    except SystemExit as leave:
        if leave.code != _TYPER_INTERRUPTED:
            raise
        _interrupted()
    except NonstickError as error:
        fail(str(error))
    except KeyboardInterrupt:
        _interrupted()
    except BrokenPipeError:  # the reading program (head, less) has ended; print nothing more
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(0) from None
    except OSError as error:
        fail(_reason(error))
    except MemoryError:
        fail("there is not enough memory for a problem of this size; make it smaller, or close other programs")


#: seconds between lines about a compilation in a pipe
BEAT = 10.0


@cache
def screen() -> Console:
    """The one console on stderr; progress bars and notices must share it, or they overwrite each other."""
    from rich.console import Console

    return Console(stderr=True)


class Bar:
    """How far a command is, as a bar on the terminal; elsewhere as a line every ten seconds."""

    def __init__(self, text: str = "", total: float | None = None, shown: bool = True, transient: bool = True):
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

        self.console = screen()
        self.live = self.console.is_terminal and shown
        self._text, self._last, self._shown = text, time.monotonic(), shown
        share = (BarColumn(bar_width=30), TaskProgressColumn(), TextColumn("left"), TimeRemainingColumn())
        columns = (TextColumn("{task.description}"), *share)
        self._progress = Progress(*columns, console=self.console, transient=transient, disable=not self.live)
        self._task = self._progress.add_task(text, total=total)

    def __enter__(self) -> Self:
        if self.live:
            self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self.live:  # rich before 14.2 ends also what it never showed, by an empty line
            self._progress.stop()

    def tick(self, done: float | None = None, of: float | None = None, text: str | None = None) -> None:
        """Show another part as done; what is not given stays as it is."""
        self._progress.update(self._task, completed=done, total=of, description=text)
        self._text = self._text if text is None else text
        if self._shown and not self.live and done and of and time.monotonic() - self._last > BEAT:
            self._last = time.monotonic()
            _print(f"{self._text}: {100 * done / of:.0f} %")


class CompilingNotice(logging.Handler):
    """Shows what `nonstick.kernels.compiling` logs."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self._kernels, self._seconds = 0, 0.0
        self._told: tuple[int, float] | None = None
        self._unfinished = 0
        self._line: Status | None = None
        self._beating: threading.Event | None = None
        self._kept = True

    def emit(self, record: logging.LogRecord) -> None:
        if record.levelno >= logging.INFO:
            self._kept = self._kept and record.__dict__.get("kept", True)
            _print(record.getMessage())
            return
        # counts of the whole process; this notice reports only the kernels compiled since it began
        self._kernels, self._seconds = record.__dict__["kernels"], record.__dict__["seconds"]
        self._unfinished = record.__dict__["unfinished"]
        self._told = self._told or (self._kernels, self._seconds)
        if not screen().is_terminal:
            if self._beating is None:
                self._beating = threading.Event()
                threading.Thread(target=self._beat, args=(self._beating,), daemon=True).start()
        elif not self._unfinished:
            self._stop()
        else:
            if self._line is None:
                self._line = screen().status(self._text(), refresh_per_second=4)
                self._line.start()
            self._line.update(self._text())

    def _text(self) -> str:
        return f"compiling kernels, {self._kernels - (self._told or (0, 0.0))[0]} done"

    def _beat(self, end: threading.Event) -> None:
        """A line every ten seconds, from a thread: one kernel alone can take a minute."""
        before = self._kernels
        while not end.wait(BEAT):
            kernels = self._kernels  # another may be compiled while a line is printed
            if self._unfinished or kernels > before:
                _print(self._text())
            before = kernels

    def close_off(self) -> None:
        """Report the kernels that were compiled since the last report, if there are any."""
        self._stop()
        if self._beating is not None:
            self._beating.set()
            self._beating = None
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


#: seconds that Python has to serve a Ctrl-C
PATIENCE = 0.8
#: exit code of an interrupted command
INTERRUPTED = 1
#: in the pipe in place of the number of a signal: the last Ctrl-C was dropped
AGAIN = 255


@contextmanager
def prompt_interrupt(patience: float = PATIENCE) -> Iterator[None]:
    """Serve Ctrl-C as usual; if that takes longer than `patience` seconds, leave the process.

    Signals that end a process (SIGTERM, SIGHUP) are served like Ctrl-C, unless somebody has said what they do: no file
    stays behind half written. One of many ranks is ended without a word: who ends them all says why.
    """
    ours = signal.default_int_handler
    main = threading.current_thread() is threading.main_thread()
    if sys.platform == "win32" or not main or signal.getsignal(signal.SIGINT) is not ours:
        yield
        return
    ends = (signal.SIGTERM, signal.SIGHUP) if ranks() == 1 else ()
    ending = [number for number in ends if signal.getsignal(number) is signal.SIG_DFL]
    served = threading.Event()

    came = threading.Event()

    def serve(number, frame):
        served.set()
        came.set()
        ours(number, frame)

    reader, writer = os.pipe()

    def dropped(what):
        if issubclass(what.exc_type, KeyboardInterrupt):
            os.write(writer, bytes([AGAIN]))
        elif not came.is_set():  # what a compiler left half made has nothing to say
            report(what)

    report, sys.unraisablehook = sys.unraisablehook, dropped
    os.set_blocking(writer, False)
    before = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)  # written when the signal comes, not when served
    for number in (signal.SIGINT, *ending):
        signal.signal(number, serve)
    threading.Thread(target=_watch, args=(reader, served, patience), daemon=True).start()
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, ours)
        for number in ending:
            signal.signal(number, signal.SIG_DFL)
        sys.unraisablehook = _silent if came.is_set() else report
        signal.set_wakeup_fd(before)
        os.close(writer)  # ends the thread


def _silent(what: object) -> None: ...


def _watch(reader: int, served: threading.Event, patience: float) -> None:
    while came := os.read(reader, 1):
        if came[0] == AGAIN:
            time.sleep(0.02)  # until the place is left
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
        elif came[0] in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            if not served.wait(patience):
                sys.stderr.write("nonstick: interrupted inside compiled code\n")
                sys.stderr.flush()
                remove_own_partial()
                os._exit(INTERRUPTED)
            served.clear()
    os.close(reader)


def print_names(what: str, rows: Mapping[str, str], as_json: bool) -> None:
    """Names with a line of text each, as a table or as JSON."""
    if as_json:
        print(json.dumps(dict(rows), indent=1))
    else:
        print_list((what, "what it is"), list(rows.items()))


def print_list(heads: Sequence[str], lines: Sequence[Sequence[str]]) -> None:
    """A table of names and their descriptions; the last column may take several lines."""
    last = len(heads) - 1
    print_table({h: {"no_wrap": k < last, "style": None if k else "cyan"} for k, h in enumerate(heads)}, lines)


def print_table(columns: Mapping[str, Mapping[str, Any]], lines: Iterable[Sequence[str]], wide: bool = False) -> None:
    """Lines under the heads of columns, which have options of `rich`; a file or a pipe has room for `wide` ones."""
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    for head, options in columns.items():
        table.add_column(head, **options)
    for line in lines:
        table.add_row(*line)
    console = Console()
    (Console(width=160) if wide and not console.is_terminal else console).print(table, highlight=not wide)
