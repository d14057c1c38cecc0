"""One run of a sweep, in a process of its own: a crash or a lack of memory there does not touch the other runs.

The process that wants the run writes the order as one line into the standard input of the child, and keeps that pipe
open. If the pipe closes, whoever wanted the run has gone (a killed worker of a cluster, for example), and the child
ends at once: so nobody writes in the directory when another worker takes the run up again.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ..errors import NonstickError
from ..files.rundir import RunDirectory
from ..scenes.scene import Scene

#: seconds between looks whether the run is still wanted
BEAT = 0.4
#: characters of a message that is kept
LONGEST = 500


@dataclass(frozen=True)
class Order:
    """What a child is told: plain values, which any worker can be sent."""

    directory: str
    scene: dict[str, Any]
    where: str
    folder: str
    #: threads of the child
    threads: int
    movie: bool = False


@dataclass(frozen=True)
class Outcome:
    """How a child ended: an empty text, or a sentence on what went wrong."""

    error: str = ""


def make(order: Order, wanted: Callable[[], bool] = lambda: True) -> Outcome:
    """Start a child for the order and wait for its end; stop it when it is no longer wanted."""
    threads = {name: str(order.threads) for name in ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")}
    child = subprocess.Popen(
        [sys.executable, "-m", __name__], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        env={**os.environ, **threads}, text=True, encoding="utf-8", errors="replace",
    )  # fmt: skip
    assert child.stdin is not None and child.stderr is not None
    told: list[str] = []
    listener = threading.Thread(target=lambda: told.extend(child.stderr or ()), daemon=True)
    listener.start()
    try:
        with suppress(BrokenPipeError):  # it ended already, and stderr says why
            child.stdin.write(json.dumps(asdict(order)) + "\n")
            child.stdin.flush()
        while True:
            try:
                code = child.wait(BEAT)
                break
            except subprocess.TimeoutExpired:
                if not wanted():
                    return Outcome("stopped")
    finally:
        if child.poll() is None:
            child.kill()
            child.wait()
        listener.join(BEAT)
        for pipe in (child.stdin, child.stderr):
            with suppress(OSError):
                pipe.close()
    if code == 0:
        return Outcome()
    last = [line.strip() for line in told if line.strip()]
    if code < 0:
        return Outcome(f"its process was ended by signal {-code}")
    return Outcome((last[-1] if last else f"its process ended with exit code {code}")[:LONGEST])


def is_made(directory: Path, scene: Scene) -> bool:
    """True if a directory holds the finished run of a scene."""
    if not (directory / "meta.json").is_file():
        return False
    opened = RunDirectory.open(directory)
    enough = opened.scene().model.time.frames >= scene.model.time.frames
    return enough and opened.status() == "done"


def _run(order: Order) -> None:
    """Make the run of an order, or continue it."""
    from ..sim.run.loop import resume, run

    scene: Scene = Scene(order.scene, order.where, Path(order.folder))
    directory = Path(order.directory)
    if (directory / "meta.json").is_file():
        if not is_made(directory, scene):
            resume(directory, scene=scene)
    else:
        run(scene, directory)
    if order.movie and not (directory / "preview.mp4").exists():
        from ..sim.run.preview import render

        render(directory)


def main() -> int:
    """The child: read the order, make the run; one sentence on stderr if that fails."""
    order = Order(**json.loads(sys.stdin.readline()))
    threading.Thread(target=_end_with_the_pipe, daemon=True).start()
    try:
        _run(order)
    except NonstickError as error:
        print(error, file=sys.stderr)
        return 2
    except MemoryError:
        print("there was not enough memory for a run of this size", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"cannot use {error.filename or order.directory}: {error.strerror or error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 1
    return 0


def _end_with_the_pipe() -> None:
    sys.stdin.read()
    os._exit(1)  # a run may be ended at any moment; it is continued from its last frame


if __name__ == "__main__":
    raise SystemExit(main())
