"""Who may see the page of a run: whoever has its address.

viser answers everybody who reaches its port: any user of the computer, and any page in the user's browser, which may
open a websocket to any address. So the address holds a random token, and each request is checked before viser sees it:

- its path begins with the token: the page, and the websocket that the page opens at its own address;
- its Host is this computer, so that no name of somebody else's leads here (DNS rebinding);
- its Origin, if it has one, is the page itself.

What is refused gets a short answer. What a browser sends afterwards is limited in size, and what cannot be read ends
its connection, without a message in the terminal.

The words of a command can be seen by every user of the computer, and so can the address that a browser is started with.
It is started with a ticket, which leads to the page once.
"""

from __future__ import annotations

import http
import logging
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from hmac import compare_digest
from typing import Any
from urllib.parse import urlsplit

#: only programs on this computer reach the page
HOST = "127.0.0.1"
#: names of this computer; the port may be another one where it is forwarded by ssh
NAMES = (HOST, "localhost", "::1")
#: bytes of a message of a browser: those of cameras and controls have a few hundred
LARGEST_MESSAGE = 1 << 20
#: letters of a path without its token: the page is one file
LONGEST_PATH = 200

#: for browsers: no other page may show this one in a frame or learn its address
_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


class Gate:
    """The checks of one page, by the token in its address."""

    def __init__(self) -> None:
        self.token = secrets.token_urlsafe(24)
        self.ticket = secrets.token_urlsafe(24)
        #: True once a server has these checks
        self.stands = False

    def refusal(self, path: str, host: str, origin: str | None) -> str:
        """Why a request is refused; nothing if it is not."""
        name, first = _name(host), path.partition("?")[0].split("/")[1:2]
        if name not in NAMES:
            return "this page is for the computer that it runs on"
        if origin is not None and origin != f"http://{host}":
            return "this page answers no other page"
        if not first or not compare_digest(first[0].encode(), self.token.encode()):
            return "the address is not complete: take the one that nonstick view has printed"
        return ""

    @contextmanager
    def guarding(self) -> Iterator[None]:
        """The server that viser starts in this block has the checks.

        viser has no place for them, so `serve` of the package that it uses is replaced.
        """
        import websockets.asyncio.server as websockets

        original = websockets.serve

        def serve(handler: Any, host: str, port: int, *, process_request: Any, **options: Any) -> Any:
            self.stands = True
            options |= {"max_size": LARGEST_MESSAGE, "logger": _silent()}
            return original(_quiet(handler), host, port, process_request=self._checked(process_request), **options)

        websockets.serve = serve  # type: ignore[assignment,misc]
        try:
            yield
        finally:
            websockets.serve = original  # type: ignore[misc]

    def _checked(self, respond: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
        def check(connection: Any, request: Any) -> Any:
            words = [request.path, *(text for pair in request.headers.raw_items() for text in pair)]
            if not all(text.isascii() for text in words):
                return connection.respond(http.HTTPStatus.BAD_REQUEST, "a path and headers of ASCII\n")
            # a header that is there twice is not the one of a browser
            host, origin = (request.headers.get_all(name) for name in ("Host", "Origin"))
            if len(host) != 1 or len(origin) > 1:
                return connection.respond(http.HTTPStatus.BAD_REQUEST, "one Host and one Origin\n")
            reason = self.refusal(request.path, host[0], origin[0] if origin else None)
            if request.path == f"/{self.ticket}" and _name(host[0]) in NAMES:
                self.ticket = secrets.token_urlsafe(24)
                response = connection.respond(http.HTTPStatus.SEE_OTHER, "")
                response.headers["Location"] = f"/{self.token}/"
                return response
            if reason:
                return connection.respond(http.HTTPStatus.FORBIDDEN, f"nonstick: {reason}\n")
            inner = request.path.partition("?")[0].removeprefix(f"/{self.token}") or "/"
            if len(inner) > LONGEST_PATH or "\0" in inner or "%00" in inner:
                return connection.respond(http.HTTPStatus.NOT_FOUND, "nonstick: there is no such page\n")
            response = respond(connection, replace(request, path=inner))
            if response is not None:
                for name, value in _HEADERS.items():
                    response.headers[name] = value
            return response

        return check


def _name(host: str) -> str:
    """The name in a Host header; nothing if it is not one."""
    try:
        return urlsplit(f"//{host}").hostname or "" if not set(host) & set("/?#@\\ ") else ""
    except ValueError:
        return ""


def _quiet(handler: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A connection that sends what viser cannot read is closed."""

    async def handle(connection: Any) -> None:
        try:
            await handler(connection)
        except Exception:
            await connection.close(1003)

    return handle


def _silent() -> logging.Logger:
    """The log of requests that fail: anybody on this computer can make them, and nobody has to read of them."""
    log = logging.getLogger("nonstick.page")
    log.setLevel(logging.CRITICAL + 1)  # whoever listens to the logger, there is nothing to hear
    return log
