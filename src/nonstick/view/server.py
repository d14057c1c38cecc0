"""A viser server that says nothing on the terminal: the commands say what users need."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator
from typing import Any

from ..optional import need

#: only programs on this computer reach the page
HOST = "127.0.0.1"
#: seconds to wait for a browser that does not answer
PATIENCE = 3.0


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


def keep_up(server: Any, seconds: float = PATIENCE) -> None:
    """Wait until every browser has taken what was sent to it; one that does not answer is waited for so long.

    Browsers handle messages in their order, in the loop that draws: an answer to any question says that what was sent
    before has arrived. The question here is for a value that no page has ever stored.
    """
    server.flush()
    for client in server.get_clients().values():
        with contextlib.suppress(RuntimeError, TimeoutError):  # it was closed, or is busy
            client.local_storage.get_item("nonstick", timeout=seconds)


def _quiet() -> contextlib.AbstractContextManager[Any]:
    return contextlib.redirect_stdout(io.StringIO())
