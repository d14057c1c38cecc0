"""Logs the compilation of kernels, on the logger `nonstick.kernels`; no garbage is collected meanwhile.

One INFO line comes before the first compilation of a process. Each kernel gives a DEBUG line when its compilation
begins and one when it ends. Their records carry `kernels` and `seconds`, compiled so far in this process, and
`unfinished`, the number of kernels being compiled. Kernels that are in the cache give no line and take no time.

A script shows the line with `logging.basicConfig(level=logging.INFO)`.
"""

import gc
import logging
import time

from numba import config
from numba.core.event import Event, Listener, register

from ._cache import PACKAGE, cache_folder

log = logging.getLogger("nonstick.kernels")


class CompilationLog(Listener):
    """Listens to numba's compiler events; kernels of other packages are not counted."""

    def __init__(self) -> None:
        self.kernels = 0
        self.seconds = 0.0
        self._begun: list[float] = []  # a kernel may be compiled while another kernel that calls it is compiled
        self._told = False

    def on_start(self, event: Event) -> None:
        kernel = _name(event)
        if kernel is None:
            return
        if not self._told:
            self._told = True
            log.info(
                "compiling kernels for their first use, which can take a minute or two; they are kept in %s",
                config.CACHE_DIR or cache_folder(),
            )
        self._begun.append(time.perf_counter())
        self._say("compiling", kernel)

    def on_end(self, event: Event) -> None:
        kernel = _name(event)
        if kernel is None or not self._begun:
            return
        began = self._begun.pop()
        if not self._begun:
            self.seconds += time.perf_counter() - began
        self.kernels += 1
        self._say("compiled", kernel)

    def _say(self, what: str, kernel: str) -> None:
        numbers = {"kernels": self.kernels, "seconds": self.seconds, "unfinished": len(self._begun)}
        log.debug("%s %s", what, kernel, extra=numbers)


class NoCollection(Listener):
    """Python looks for no garbage while a kernel is compiled.

    The compiler makes millions of objects, most of which live until it ends. To look through them again and again takes
    a sixth of its time.
    """

    def __init__(self) -> None:
        self._unfinished = 0
        self._collected = False

    def on_start(self, event: Event) -> None:
        if _name(event) is not None:
            if not self._unfinished:
                self._collected = gc.isenabled()
                gc.disable()
            self._unfinished += 1

    def on_end(self, event: Event) -> None:
        if _name(event) is not None and self._unfinished:
            self._unfinished -= 1
            if not self._unfinished and self._collected:
                gc.enable()


def _name(event: Event) -> str | None:
    """`nonstick.grid._fractions._fill`; None if the function is not ours.

    Functions of others may have no module, such as those made by `exec`, and what fails here ends their compilation.
    """
    function = getattr(event.data.get("dispatcher"), "py_func", None)
    module = str(getattr(function, "__module__", None))
    ours = module.split(".")[0] == PACKAGE.name
    return f"{module}.{getattr(function, '__qualname__', '')}" if ours else None


def install() -> None:
    """Listen to numba from now on."""
    register("numba:compile", CompilationLog())
    register("numba:compile", NoCollection())
