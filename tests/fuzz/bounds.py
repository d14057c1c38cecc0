"""What all fuzzers share: how many mutants, and what a mutant must not do.

A mutant may be solved or refused in one sentence. It must not end in another exception, take longer than SLOW seconds
or take the process with it. `NONSTICK_FUZZ=10000` makes a long run, `NONSTICK_FUZZ_SEED` shifts it to other mutants.
The seed of a mutant is written down before it is tried, so that a crash tells which one it was.
"""

import faulthandler
import os
import sys
import time
import traceback
from contextlib import contextmanager

from numba.core import event

from nonstick import NonstickError

#: seconds for one mutant
SLOW = 10.0


def seeds(short: int):
    """Seeds of the mutants to try; `short` of them in an ordinary run of the tests."""
    count, first = int(os.environ.get("NONSTICK_FUZZ", short)), int(os.environ.get("NONSTICK_FUZZ_SEED", 0))
    return range(first, first + count)


#: what broke in a long run, which goes on to its end
broken: list[str] = []


@contextmanager
def answered(seed: int, note: str = ""):
    """Around one mutant; in a long run with a log, what breaks is written down, and `none_broke` reports it."""
    log = os.environ.get("NONSTICK_FUZZ_LOG")
    try:
        with _answered(seed, note, log):
            yield
    except AssertionError as error:
        if not log:
            raise
        broken.append(f"{str(error)[:400]}\n{''.join(traceback.format_exception(error.__cause__ or error)[-4:])}")
        print("BROKEN", broken[-1], flush=True)


def none_broke():
    """At the end of a test of mutants."""
    assert not broken, f"{len(broken)} mutants broke something: " + "\n".join(broken)
    broken.clear()


@contextmanager
def _answered(seed: int, note: str, log: str | None):
    if log:
        with open(log, "a", encoding="utf-8") as file:
            file.write(f"{seed} {note}\n")
        faulthandler.dump_traceback_later(600, exit=True, file=sys.__stderr__)
    try:
        with in_time():
            yield
    except NonstickError as error:
        text = str(error)
        assert text and "\n" not in text and len(text) < 1500, f"mutant {seed}: {text!r}"
    except OSError as error:  # the command line makes a sentence of these two
        assert error.strerror and error.filename, f"mutant {seed} {note}: {error!r}"
    except Exception as error:
        raise AssertionError(f"mutant {seed} {note}: {error!r}") from error
    finally:
        if log:
            faulthandler.cancel_dump_traceback_later()


class _Compiling(event.Listener):
    """Processor seconds of compilations, which are no work of the mutant that comes first."""

    def __init__(self):
        self.seconds, self.depth = 0.0, 0

    def on_start(self, event):
        self.seconds -= 0.0 if self.depth else time.process_time()
        self.depth += 1

    def on_end(self, event):
        self.depth -= 1
        self.seconds += 0.0 if self.depth else time.process_time()


@contextmanager
def in_time():
    """Around what must take less than SLOW seconds, on the clock or of the processor: others may use it, too."""
    began, compiling = (time.perf_counter(), time.process_time()), _Compiling()
    try:
        with event.install_listener("numba:compile", compiling):
            yield
    finally:
        took = min(time.perf_counter() - began[0], time.process_time() - began[1] - compiling.seconds)
        assert took < SLOW, f"it took {took:.1f} s"
