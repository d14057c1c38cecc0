"""The pages in a real Chromium: they load without errors, playing moves the picture, switches change it."""

import subprocess
import sys
import time

import numpy as np
import pytest
from browser import PATIENCE

from nonstick.pictures.page import LivePage, write_html

pytestmark = [pytest.mark.slow, pytest.mark.browser]


def until(what) -> None:
    end = time.monotonic() + PATIENCE
    while not what():
        assert time.monotonic() < end, "nothing happened"
        time.sleep(0.05)


def test_one_file_plays_and_its_parts_can_be_hidden(tab, splash, tmp_path):
    page = write_html(splash, tmp_path / "splash.html", compare=splash, colour="speed")
    tab.load(page.file.as_uri())
    clock = tab.page.locator("input").first
    tab.page.keyboard.press("Space")  # it plays from the start
    before, began = tab.settled(), clock.input_value()
    tab.page.keyboard.press("Space")
    tab.changed(before)  # seen while it plays: it begins again at the end
    until(lambda: clock.input_value() != began)
    tab.page.keyboard.press("Space")
    later = tab.settled()
    tab.page.get_by_label("Show scene tree").click()
    rows = tab.page.locator("[data-playback-scene-tree]")
    rows.get_by_text("2 splash").wait_for()  # two runs side by side
    rows.locator("svg.tabler-icon-eye").nth(2).click()  # the eyes of the scene, of the lights, of the runs
    tab.changed(later)
    assert tab.errors == []
    assert tab.asked[0] == page.file.as_uri()
    assert not [url for url in tab.asked if url.startswith("http")]  # nothing comes from the network


def test_live_page_of_two_runs(tab, splash, plane):
    with LivePage([splash, splash], port=0) as live:
        tab.load(live.url)
        start = tab.settled()
        tab.page.get_by_role("button", name="Play").click()
        tab.changed(start)
        tab.page.get_by_role("button", name="Stop").click()
        tab.page.get_by_role("button", name="last").click()
        tab.page.get_by_text("frame 6,").wait_for()
        until(lambda: [stage.shown for stage in live.stages] == [6, 6])
        last = tab.settled()
        tab.page.get_by_label("Surface").click()
        bare = tab.changed(last)
        tab.page.get_by_label("Particles").click()
        tab.changed(bare)
    assert tab.errors == []


def test_live_page_in_2d_with_colours(tab, plane):
    with LivePage([plane], port=0) as live:
        tab.load(live.url)
        plain = tab.settled()
        tab.page.get_by_label("Colour").click()
        tab.page.get_by_role("option", name="pressure").click()
        tab.changed(plain)
        assert "Pa" in tab.page.content()
    assert tab.errors == []


def test_a_run_that_is_still_going(tab, tmp_path):
    """It makes frames much faster than this browser shows them."""
    out = tmp_path / "run"
    # so many frames that it goes on until it is ended here, however slow the browser is
    words = ["run", "circle", "--frames", "1000000", "--out", str(out), "--no-movie", "-s", "domain.resolution=24"]
    run = subprocess.Popen([sys.executable, "-m", "nonstick", *words], stdout=subprocess.DEVNULL)
    try:
        until(lambda: (out / "frames" / "000000.npz").is_file())
        with LivePage([out], port=0) as live:
            tab.load(live.url)
            tab.page.get_by_text("running,").wait_for()
            tab.changed(tab.picture())
            assert live.player.follow and len(live.stages[0].pictures) < len(live.player.frames)
            assert np.ptp(tab.picture()) > 60
    finally:
        run.kill()
        run.wait()
    assert tab.errors == []
