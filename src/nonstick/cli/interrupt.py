"""Ctrl-C within a second, whatever runs.

Python serves a signal between two steps of its own code. Inside compiled code, while a kernel is compiled or a matrix
is factorised, that can take many seconds. A thread watches for this: a Ctrl-C that is not served in time ends the
process at once. Nothing is lost by that: files are replaced whole or not at all, and a run that was killed resumes.

Python also drops a Ctrl-C that it serves where no exception can pass, such as in the clean-up of an object; compilers
do much of that. Such a Ctrl-C is sent again.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

#: seconds that Python has to serve a Ctrl-C
PATIENCE = 0.8
#: exit code of an interrupted command
INTERRUPTED = 1
#: in the pipe in place of the number of a signal: the last Ctrl-C was dropped
AGAIN = 255


@contextmanager
def prompt_interrupt(patience: float = PATIENCE) -> Iterator[None]:
    """Serve Ctrl-C as usual; if that takes longer than `patience` seconds, leave the process."""
    ours = signal.default_int_handler
    main = threading.current_thread() is threading.main_thread()
    if sys.platform == "win32" or not main or signal.getsignal(signal.SIGINT) is not ours:
        yield
        return
    served = threading.Event()

    def serve(number, frame):
        served.set()
        ours(number, frame)

    reader, writer = os.pipe()

    def dropped(what):
        if issubclass(what.exc_type, KeyboardInterrupt):
            os.write(writer, bytes([AGAIN]))
        else:
            report(what)

    report, sys.unraisablehook = sys.unraisablehook, dropped
    os.set_blocking(writer, False)
    before = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)  # written when the signal comes, not when served
    signal.signal(signal.SIGINT, serve)
    threading.Thread(target=_watch, args=(reader, served, patience), daemon=True).start()
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, ours)
        sys.unraisablehook = report
        signal.set_wakeup_fd(before)
        os.close(writer)  # ends the thread


def _watch(reader: int, served: threading.Event, patience: float) -> None:
    while came := os.read(reader, 1):
        if came[0] == AGAIN:
            time.sleep(0.02)  # until the place is left
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
        elif came[0] == signal.SIGINT:
            if not served.wait(patience):
                sys.stderr.write("nonstick: interrupted inside compiled code\n")
                sys.stderr.flush()
                os._exit(INTERRUPTED)
            served.clear()
    os.close(reader)
