"""The page of a run answers those who have its address, and nobody else."""

import asyncio
import http.client
import mimetypes
import os
import socket
import sys
import time
from urllib.parse import urlsplit

import pytest

from nonstick import NonstickError
from nonstick.cli import main
from nonstick.pictures.page import LivePage
from nonstick.pictures.page.gate import LARGEST_MESSAGE, Gate
from nonstick.pictures.page.live import serving

viser = pytest.importorskip("viser")
websockets = pytest.importorskip("websockets")


@pytest.fixture(scope="module")
def page(splash):
    with LivePage([splash], port=0) as page:
        yield page


def ask(page, path, **headers):
    """Status, headers and text of an answer; Host is right unless it is given."""
    there = http.client.HTTPConnection("127.0.0.1", urlsplit(page.url).port, timeout=20)
    there.putrequest("GET", path, skip_host=True)
    for name, value in ({"Host": urlsplit(page.url).netloc} | headers).items():
        if value is not None:
            there.putheader(name, value)
    there.endheaders()
    answer = there.getresponse()
    return answer.status, dict(answer.headers), answer.read()


def connect(page, path=None, origin="own", host=None, protocol=None, send=()):
    """What a websocket gets in a moment: bytes, or why it was refused."""
    address = urlsplit(page.url)

    async def talk():
        where = f"ws://{address.netloc}{address.path.rstrip('/') if path is None else path}"
        own = f"http://{address.netloc}" if origin == "own" else origin
        options = {"additional_headers": {"Host": host}} if host else {}
        words = [protocol or f"viser-v{viser.__version__}"]
        got = 0
        try:
            async with websockets.connect(where, origin=own, subprotocols=words, max_size=None, **options) as there:
                for message in send:
                    await there.send(message)
                while True:
                    got += len(await asyncio.wait_for(there.recv(), 0.3 if got > 10_000 else 20.0))
        except TimeoutError:
            return got
        except websockets.exceptions.ConnectionClosed as end:
            return f"closed {end.rcvd.code if end.rcvd else ''}"
        except websockets.exceptions.InvalidStatus as refused:
            return refused.response.status_code

    return asyncio.run(talk())


def test_the_page_and_its_websocket_are_served_at_its_address(page):
    path = urlsplit(page.url).path
    for same in (path, path.rstrip("/"), f"{path}?websocket=ws://127.0.0.1/x"):
        status, headers, text = ask(page, same)
        assert status == 200 and b"<html" in text
        assert headers["Referrer-Policy"] == "no-referrer" and "frame-ancestors 'none'" in str(headers)
    assert connect(page) > 10_000
    assert connect(page, origin=None) > 10_000  # a program that is no browser, with the token


def test_without_the_token_there_is_nothing(page):
    token = page.gate.token
    for path in (
        "/",
        "",
        f"//{token}/",
        f"/{token[:-1]}/",
        f"/{token}x/",
        "/x/../" + token,
        "/index.html",
        "/%2e%2e/x",
    ):
        status, _, text = ask(page, path)
        assert status == 403 and len(text) < 200 and b"nonstick" in text, path
        assert connect(page, path or "/") == 403, path


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8080", "127.0.0.1.evil.example", "127.0.0.1@evil", "", "["]
)
def test_other_names_do_not_lead_here(page, host):
    assert ask(page, urlsplit(page.url).path, Host=host)[0] == 403
    assert ask(page, urlsplit(page.ticket).path, Host=host)[0] == 403


def test_a_host_must_be_there(page):
    assert ask(page, urlsplit(page.url).path, Host=None)[0] == 400


@pytest.mark.parametrize("name", ["localhost:9999", "[::1]:8080", "127.0.0.1"])
def test_a_forwarded_port_has_another_number(page, name):
    assert ask(page, urlsplit(page.url).path, Host=name, Origin=f"http://{name}")[0] == 200


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "http://127.0.0.1:1", "https://{netloc}", "file://", ""]
)
def test_no_other_page_gets_anything(page, origin):
    netloc = urlsplit(page.url).netloc
    assert connect(page, origin=origin.format(netloc=netloc)) == 403
    assert ask(page, urlsplit(page.url).path, Origin=origin.format(netloc=netloc))[0] == 403


def test_a_ticket_leads_to_the_page_once(page):
    ticket = urlsplit(page.ticket).path
    status, headers, _ = ask(page, ticket)
    assert status == 303 and headers["Location"] == urlsplit(page.url).path
    assert ask(page, ticket)[0] == 403
    assert page.gate.ticket not in ticket


@pytest.mark.parametrize("text", [b"GET /\xd5x/ HTTP/1.1", b"GET {path} HTTP/1.1\r\nSec-WebSocket-Key: \xff"])
def test_a_request_that_is_not_ascii_is_refused(page, text):
    with socket.create_connection(("127.0.0.1", urlsplit(page.url).port), timeout=20) as there:
        there.sendall(text.replace(b"{path}", urlsplit(page.url).path.encode()) + b"\r\nHost: localhost\r\n\r\n")
        assert there.recv(100).startswith(b"HTTP/1.1 400 ")


def test_long_and_odd_paths_are_answered(page, caplog):
    path = urlsplit(page.url).path
    for more in ("x" * 250, "x" * 5000, "%00", "..", "%2e%2e/%2e%2e/etc/passwd", "a/" * 90, "x\\..\\y"):
        assert ask(page, path + more)[0] == 404, more
    assert not caplog.records


@pytest.mark.parametrize(
    "message",
    [b"", b"garbage", "text", os.urandom(5000), b"\x81\xa4type\xa1x", b"x" * (LARGEST_MESSAGE + 1)],
    ids=range(6),
)
def test_garbage_ends_its_connection_and_nothing_else(page, message, caplog, capfd):
    assert str(connect(page, send=[message])).startswith("closed")
    assert connect(page) > 10_000
    assert not caplog.records and "Traceback" not in capfd.readouterr().err


NO_REQUESTS = [
    b"",
    b"\0" * 100,
    b"GET\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost",
    b"POST / HTTP/1.1\r\n\r\n",
    b"\x16\x03\x01" * 50,
    b"GET / HTTP/1.1\r\n" + b"x: y\r\n" * 500 + b"\r\n",
    b"GET /" + b"x" * 20_000 + b" HTTP/1.1\r\n\r\n",
]


def test_what_is_no_request_at_all(page, caplog, capfd):
    port = urlsplit(page.url).port
    for text in NO_REQUESTS:
        with socket.create_connection(("127.0.0.1", port), timeout=5) as there:
            there.sendall(text)
            there.shutdown(socket.SHUT_WR)
            answer = there.recv(100)
            assert not answer.startswith(b"HTTP/1.1 2") and not answer.startswith(b"HTTP/1.1 101")
    time.sleep(0.1)
    assert not caplog.records and "Traceback" not in capfd.readouterr().err
    assert connect(page) > 10_000


def test_it_listens_on_this_computer_only(page):
    (listening,) = {s.getsockname()[0] for s in sockets_of(page)}
    assert listening == "127.0.0.1"


def sockets_of(page):
    """Sockets of this process that listen at the port of the page."""
    import psutil

    port = urlsplit(page.url).port

    class Found:
        def __init__(self, address):
            self.address = address

        def getsockname(self):
            return tuple(self.address)

    return [Found(c.laddr) for c in psutil.Process().net_connections() if c.laddr.port == port and c.status == "LISTEN"]


def test_no_option_serves_the_page_to_others(splash, capsys):
    with pytest.raises(SystemExit) as leave:
        main(["view", str(splash), "--host", "0.0.0.0"])
    said = capsys.readouterr().err
    assert leave.value.code == 2 and "No such option" in said and "--host" in said


def test_the_page_reads_nothing_but_the_run_and_itself_and_writes_nothing(page, splash):
    """What a process opens is told to hooks; they stay for good, so this one is told when to listen."""
    opened, listening = [], [True]

    def hook(event, what):
        if event == "open" and listening[0] and isinstance(what[0], (str, os.PathLike)):
            opened.append((os.fspath(what[0]), what[2]))

    before = {f: (f.stat().st_mtime_ns, f.stat().st_size) for f in splash.rglob("*")}
    sys.addaudithook(hook)
    for number in (page.player.frames[-1], page.player.frames[0]):
        assert connect(page) > 10_000
        page.player.go(number)
        for path in ("", "x", "../../etc/passwd", "/etc/passwd", "%2e%2e/%2e%2e/etc/passwd", "assets/x.js"):
            ask(page, urlsplit(page.url).path + path)
    (splash / "stats.csv").read_bytes()
    listening[0] = False
    assert {f: (f.stat().st_mtime_ns, f.stat().st_size) for f in splash.rglob("*")} == before
    # files of the run are opened by their name in its folder
    own = (str(splash), os.path.dirname(viser.__file__), *mimetypes.knownfiles)
    assert opened and not [name for name, _ in opened if os.path.isabs(name) and not name.startswith(own)]
    assert not [name for name, flags in opened if flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)]


def test_a_viser_that_cannot_be_guarded_gives_no_page(monkeypatch):
    from contextlib import nullcontext

    monkeypatch.setattr(Gate, "guarding", lambda self: nullcontext())
    with pytest.raises(NonstickError, match="cannot be guarded"), serving():
        pass
