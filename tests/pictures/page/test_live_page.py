"""The live page without a browser: frames that come, change and cannot be read; the command that serves it."""

import os
import shutil
import signal
import subprocess
import sys
import time
import urllib.request
from threading import Semaphore

import pytest

from nonstick.pictures.page import LivePage, live

PATIENCE = 60.0


def until(what) -> None:
    end = time.monotonic() + PATIENCE
    while not what():
        assert time.monotonic() < end, "nothing happened"
        time.sleep(0.02)


@pytest.fixture
def copy(splash, tmp_path):
    return shutil.copytree(splash, tmp_path / "copy")


def test_new_frames_appear_and_deleted_ones_go(copy):
    last = copy / "frames" / "000006.npz"
    last.rename(copy / "later.npz")
    with LivePage([copy], port=0) as page:
        until(lambda: page.stages[0].shown == 0)
        page.player.follow = True
        until(lambda: page.stages[0].shown == 5)
        (copy / "later.npz").rename(last)
        until(lambda: page.stages[0].shown == 6)
        last.unlink()
        until(lambda: page.stages[0].shown == 5)
        assert 6 not in page.stages[0].pictures


def test_a_frame_that_was_made_again_is_drawn_again(copy):
    with LivePage([copy], port=0) as page:
        until(lambda: page.stages[0].shown == 0)
        before = page.stages[0].pictures[0]
        shutil.copyfile(copy / "frames" / "000006.npz", copy / "frames" / "000000.npz")
        until(lambda: 0 in page.stages[0].pictures and page.stages[0].pictures[0] is not before)
        assert page.stages[0].pictures[0].surface != before.surface


def test_a_damaged_frame_is_told_and_the_page_goes_on(copy):
    (copy / "frames" / "000003.npz").write_bytes(b"no frame")
    with LivePage([copy], port=0) as page:
        page.player.go(3)
        until(lambda: "is damaged" in page._text.content)
        page.player.go(4)
        until(lambda: 4 in page.stages[0].pictures and "damaged" not in page._text.content)


def test_two_runs_show_the_same_time(splash, plane):
    with LivePage([splash, plane], port=0) as page:
        page.player.go(2)
        until(lambda: [stage.shown for stage in page.stages] == [2, 2])
        page.player.go(6)
        until(lambda: [stage.shown for stage in page.stages] == [6, 4])  # the second run has no more frames


def test_other_colours_are_drawn_at_once(toys):
    with LivePage([toys], port=0) as page:
        until(lambda: page.stages[0].shown == 0)
        assert page._choices() == ("liquid", "speed", "pressure", "viscosity", "age")
        plain = page.stages[0].pictures[0].surface
        page._colour = "viscosity"
        until(lambda: "viscosity" in page._legend.content)
        assert page.stages[0].pictures[0].surface != plain


def test_far_frames_leave_the_browser_first(splash, monkeypatch):
    with LivePage([splash], port=0) as page:
        until(lambda: page.stages[0].shown == 0)
        monkeypatch.setattr(live, "LARGEST", 3 * page.stages[0].pictures[0].size)
        for number in range(7):
            page.player.go(number)
            until(lambda number=number: page.stages[0].shown == number)
        held = sorted(page.stages[0].pictures)
        assert held[-1] == 6 and 0 not in held


def test_a_browser_holds_so_many_frames(splash, monkeypatch):
    monkeypatch.setattr(live, "MOST", 3)
    with LivePage([splash], port=0) as page:
        for number in (0, 2, 4, 6, 5):
            page.player.go(number)
            until(lambda number=number: page.stages[0].shown == number)
        assert sorted(page.stages[0].pictures) == [4, 5, 6]


def test_a_run_is_followed_no_faster_than_the_browser_takes_frames(copy, monkeypatch):
    taken = Semaphore(0)
    monkeypatch.setattr(live, "wait_for_browsers", lambda server: taken.acquire(timeout=PATIENCE))
    for number in range(1, 7):
        (copy / "frames" / f"{number:06d}.npz").rename(copy / f"{number}.npz")
    with LivePage([copy], port=0) as page:
        until(lambda: page.stages[0].shown == 0)
        page.player.follow = True
        for number in range(1, 7):
            (copy / f"{number}.npz").rename(copy / "frames" / f"{number:06d}.npz")
        time.sleep(2 * live.LOOK)
        assert page.stages[0].shown == 0  # the browser has not taken it yet
        taken.release()
        until(lambda: page.stages[0].shown == 6)
        assert sorted(page.stages[0].pictures) == [0, 6]  # and the rest is left out
        taken.release()


def test_a_page_that_follows_draws_nothing_ahead(splash, monkeypatch):
    with LivePage([splash], port=0) as page:
        monkeypatch.setattr(page.server, "get_clients", lambda: {})
        until(lambda: page.stages[0].shown == 0)
        assert not page._idle()  # nobody is there
        monkeypatch.setattr(page.server, "get_clients", lambda: {0: None})
        monkeypatch.setattr(live, "wait_for_browsers", lambda server: None)
        assert page._idle()
        until(lambda: len(page.stages[0].pictures) == 7)
        page.player.follow, page._status = True, "running"
        monkeypatch.setattr(page, "_look", lambda: None)
        page._status = "running"
        assert not page._idle()
        page.player.playing = True
        assert page._idle()


def ended(process) -> int:
    process.send_signal(signal.SIGINT)
    return process.wait(PATIENCE)


def test_command_serves_a_page_until_ctrl_c(splash):
    words = [sys.executable, "-m", "nonstick", "view", str(splash), "--no-browser", "--port", "0"]
    process = subprocess.Popen(
        words, stdout=subprocess.PIPE, text=True,
        # jobs in the background ignore it
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )  # fmt: skip
    line = process.stdout.readline()
    assert line.startswith("the page is at http://127.0.0.1:") and line.endswith("Ctrl-C ends it\n")
    with urllib.request.urlopen(line.split()[4].rstrip(";")) as answer:
        assert b"<title>" in answer.read()
    assert ended(process) == 0
    assert process.stdout.read().strip() == ""


def test_run_opens_the_page_and_ends_it(tmp_path):
    """Without a terminal, where nobody could press Ctrl-C, the page ends with the run."""
    words = ["run", "still", "--view", "--no-movie", "--frames", "2", "-s", "domain.resolution=8", "--out"]
    env = {k: v for k, v in os.environ.items() if k not in ("DISPLAY", "WAYLAND_DISPLAY")}
    done = subprocess.run(
        [sys.executable, "-m", "nonstick", *words, str(tmp_path / "run")],
        capture_output=True, text=True, stdin=subprocess.DEVNULL, env=env, timeout=4 * PATIENCE,
    )  # fmt: skip
    assert done.returncode == 0
    assert f"look again with: nonstick view {tmp_path / 'run'}" in done.stdout


def test_importing_nonstick_does_not_load_viser():
    code = "import sys, nonstick, nonstick.cli, nonstick.pictures.page; sys.exit('viser' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
