"""Common parts of all commands: plain messages, one-sentence errors, exit codes."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable
from typing import NoReturn

from ..errors import NonstickError
from .interrupt import INTERRUPTED, prompt_interrupt
from .screen import close_off

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
    return f"cannot use {where}: {error.strerror or error}" if where else f"cannot go on: {error.strerror or error}"


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
