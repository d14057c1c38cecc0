"""Hostile requests to the page of a run: nothing but the right address is answered, and nothing takes the page down."""

import random
import socket
from collections import Counter
from urllib.parse import urlsplit

import pytest
from bounds import answered, none_broke, seeds

from nonstick import Scene
from nonstick.pictures.page import LivePage
from nonstick.sim.run.loop import run

pytest.importorskip("viser")

HOSTS = [
    "{own}",
    "{own}",
    "{own}",
    "localhost:{port}",
    "evil.example",
    "127.0.0.1.evil:{port}",
    "",
    "[::1",
    "a@127.0.0.1",
]
ORIGINS = [
    None,
    None,
    "http://{own}",
    "http://evil.example",
    "null",
    "http://{own}/",
    "https://{own}",
    "http://localhost",
]
PATHS = ["/{token}/", "/{token}", "/{token}/?x=1", "/", "/{short}/", "//{token}/", "/{token}/../x", "/%2e%2e/{token}/",
         "/{token}/" + "x" * 300, "/{token}/%00", "*", "http://evil/{token}/", "/{token}\\x"]  # fmt: skip
UPGRADE = ["Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13",
           "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", "Sec-WebSocket-Protocol: viser-v1"]  # fmt: skip


def request(rng, page):
    """The bytes of a request, and whether it may be answered."""
    own = urlsplit(page.url).netloc
    words = {"own": own, "port": urlsplit(page.url).port, "token": page.gate.token, "short": page.gate.token[:-1]}
    host, origin, path = (rng.choice(x) for x in (HOSTS, ORIGINS, PATHS))
    lines = [f"GET {path.format(**words)} HTTP/1.1", f"Host: {host.format(**words)}"]
    lines += [] if origin is None else [f"Origin: {origin.format(**words)}"]
    lines += UPGRADE if rng.randrange(2) else []
    good_host = host in ("{own}", "localhost:{port}")
    good_origin = origin is None or origin.format(**words) == f"http://{host.format(**words)}"
    right = good_host and good_origin and path.startswith("/{token}")
    text = bytearray("\r\n".join([*lines, "", ""]).encode("latin-1"))
    if not rng.randrange(3):
        for _ in range(rng.choice([1, 3, 30])):
            text[rng.randrange(len(text))] = rng.randrange(256)
        right = True  # a change may leave it as it was, or make it right
    return bytes(text) + rng.choice([b"", b"\x81\x85mask12345", bytes(rng.randrange(256) for _ in range(99))]), right


def test_hostile_requests(tmp_path, caplog, capfd):
    run(Scene.load("sphere", {"domain.resolution": 8, "time.frames": 1}), tmp_path / "run")
    tried = Counter()
    with LivePage([tmp_path / "run"], port=0) as page:
        port = urlsplit(page.url).port
        for seed in seeds(150):
            content, may = request(random.Random(seed), page)
            with answered(seed), socket.create_connection(("127.0.0.1", port), timeout=15) as there:
                there.sendall(content)
                there.settimeout(0.3)  # of a request without an end
                try:
                    answer = there.recv(200)
                except (ConnectionResetError, TimeoutError):
                    answer = b""
                status = answer[9:12].decode("latin-1") if answer.startswith(b"HTTP/1.1 ") else "none"
                tried[status] += 1
                assert may or status not in ("101", "200", "303", "500"), (content, answer)
        assert page.player.frames == [0, 1]
    assert not caplog.records and "Traceback" not in capfd.readouterr().err
    print(dict(tried))
    none_broke()
