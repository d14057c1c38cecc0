"""A viser server that says nothing on the terminal: the commands say what users need."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator
from typing import Any

from ..optional import need

#: only programs on this computer reach the page
HOST = "127.0.0.1"


@contextlib.contextmanager
def serving(port: int = 0, title: str = "nonstick") -> Iterator[Any]:
    """A `viser.ViserServer` on this computer; port 0 is any free one, and a port in use gives the next free one."""
    need("view", "viser", "fast_simplification")
    import viser

    with _quiet():
        server = viser.ViserServer(host=HOST, port=port, label=title, verbose=False)
    try:
        yield server
    finally:
        with _quiet():
            server.stop()


def _quiet() -> contextlib.AbstractContextManager[Any]:
    return contextlib.redirect_stdout(io.StringIO())
