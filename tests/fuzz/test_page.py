"""Hostile requests to the page of a run: nothing but the right address is answered, and nothing takes the page down."""

import random
import socket
from collections import Counter
from contextlib import suppress
from urllib.parse import urlsplit

import pytest
from bounds import answered, none_broke, seeds

from nonstick import Scene
from nonstick.pictures.page import LivePage
from nonstick.sim.run.loop import run

viser = pytest.importorskip("viser")
msgspec = pytest.importorskip("msgspec")  # comes with viser

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
           "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
           f"Sec-WebSocket-Protocol: viser-v{viser.__version__}"]  # fmt: skip


def request(rng, page):
    """The bytes of a request, frames to send after it, and whether it may be answered."""
    own = urlsplit(page.url).netloc
    handles = [control._impl.uuid for control in (page._slider, page._play, page._buttons, page._follow)]
    words = {"own": own, "port": urlsplit(page.url).port, "token": page.gate.token, "short": page.gate.token[:-1]}
    host, origin, path = (rng.choice(x) for x in (HOSTS, ORIGINS, PATHS))
    upgrade = rng.randrange(2)
    if not rng.randrange(3):  # a websocket is opened, and its frames are hostile
        host, origin, path, upgrade = "{own}", None, "/{token}/", True
    lines = [f"GET {path.format(**words)} HTTP/1.1", f"Host: {host.format(**words)}"]
    lines += [] if origin is None else [f"Origin: {origin.format(**words)}"]
    lines += UPGRADE if upgrade else []
    good_host = host in ("{own}", "localhost:{port}")
    good_origin = origin is None or origin.format(**words) == f"http://{host.format(**words)}"
    right = good_host and good_origin and path.startswith("/{token}")
    text = bytearray("\r\n".join([*lines, "", ""]).encode("latin-1"))
    if not rng.randrange(4):
        for _ in range(rng.choice([1, 3, 30])):
            text[rng.randrange(len(text))] = rng.randrange(256)
        right = True  # a change may leave it as it was, or make it right
    return bytes(text), [frame(rng, handles) for _ in range(rng.randrange(4))], right


def frame(rng, handles):
    """A frame of a websocket as a browser sends it, or nearly: any flags, kind, length and content."""
    content = rng.choice(
        [b"", b"garbage", b"\x81\xa4type\xa1x", rng.randbytes(rng.choice([5, 130, 70_000])), message(rng, handles)]
    )
    first = rng.choice([0x81, 0x82, 0x82, 0x82, 0x89, 0x8A, 0x88, 0x02, 0x00, rng.randrange(256)])
    said = rng.choice([len(content)] * 6 + [0, 3, 1 << 40])
    size = bytes([said]) if said < 126 else b"\x7e" + said.to_bytes(2) if said < 1 << 16 else b"\x7f" + said.to_bytes(8)
    size = bytes([size[0] | rng.choice([0x80] * 8 + [0])]) + size[1:]
    key = rng.randbytes(4)
    return bytes([first]) + size + key + bytes(b ^ key[i % 4] for i, b in enumerate(content))


def message(rng, handles):
    """A message of viser's own kinds with values that are not, some for controls that the page has."""
    wrong = [None, -1, 1e300, "x" * 9000, [], {}, b"\0", [1e400] * 4, 2**63, {"value": "x"}, {"value": 1e400}, *handles]
    kind = rng.choice(
        ["ViewerCameraMessage", "GuiUpdateMessage", "SceneNodeClickMessage", "GuiButtonGroupMessage", "x"]
    )
    keys = ["uuid", "updates", "wxyz", "position", "fov", "look_at", "name", "instance_index", "more"]
    return msgspec.msgpack.encode({"type": kind} | {key: rng.choice(wrong) for key in keys if rng.randrange(4)})


def test_hostile_requests(tmp_path, caplog, capfd):
    run(Scene.load("sphere", {"domain.resolution": 8, "time.frames": 1}), tmp_path / "run")
    tried = Counter()
    with LivePage([tmp_path / "run"], port=0) as page:
        port = urlsplit(page.url).port
        for seed in seeds(150):
            content, frames, may = request(random.Random(seed), page)
            with answered(seed), socket.create_connection(("127.0.0.1", port), timeout=15) as there:
                there.settimeout(0.3)  # of a request without an end
                answer = b""
                with suppress(ConnectionError, TimeoutError):
                    there.sendall(content)
                    answer = there.recv(200)
                    for one in frames:
                        there.sendall(one)
                        there.recv(1 << 20)
                status = answer[9:12].decode("latin-1") if answer.startswith(b"HTTP/1.1 ") else "none"
                tried[status] += 1
                assert status != "500" and (may or status not in ("101", "200", "303")), (content, answer)
        assert page.player.frames == [0, 1] and page._thread.is_alive()
    assert not [r for r in caplog.records if r.levelname != "INFO"] and "Traceback" not in capfd.readouterr().err
    print(dict(tried))
    none_broke()
