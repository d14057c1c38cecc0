"""Pages in one file: their size, what is left out, and what is said."""

import http.client

import numpy as np
import pytest

from nonstick.cli import main
from nonstick.errors import NonstickError
from nonstick.pictures.page import html, write_html
from nonstick.pictures.page.artist import Limits


def test_a_small_run_is_written_whole(splash, tmp_path):
    page = write_html(splash, tmp_path / "a.html", colour="speed")
    text = page.file.read_text()
    assert page.frames == 7 and page.thinned == "" and page.bytes == len(text.encode()) < 20e6
    assert "<title>splash</title>" in text and "__VISER_EMBED_DATA__" in text and "6.26 m/s" in text


@pytest.mark.parametrize("megabytes", [1.3, 1.6])
def test_a_page_keeps_to_its_budget_and_says_so(splash, tmp_path, megabytes):
    page = write_html(splash, tmp_path / "a.html", compare=splash, budget=megabytes)
    assert 0.5e6 * megabytes < page.bytes <= megabytes * 1e6
    assert page.thinned.startswith(f"thinned to {megabytes:g} MB") and page.thinned in page.file.read_text()


def test_frames_are_left_out_when_thinning_is_not_enough():
    triangles, particles = html._Cost([40_000] * 3, 1_200_000), html._Cost([25_000] * 3, 300_000)
    full = Limits(300_000, 200_000)
    plan = html._thinned(10e6, 100, 1, triangles, particles, full)
    assert plan.every == 1 and html.LEAST.triangles <= plan.limits.triangles < 10_000
    plan = html._thinned(1e6, 100, 1, triangles, particles, full)
    assert plan.every == 10 and html.LEAST.triangles <= plan.limits.triangles < 20_000


def test_small_frames_leave_room_for_large_ones():
    cost = html._Cost([1_000, 1_000, 40_000], 420_000)
    most = cost.most(100_000.0)
    assert most == 28_000 and cost.within(most) == pytest.approx(100_000.0)
    assert cost.most(1e9) == 40_000 and cost.most(0.0) == 0


def test_a_page_that_comes_out_too_large_is_made_again(splash, tmp_path, monkeypatch):
    """The guess may be wrong; the size is not."""
    monkeypatch.setattr(html, "compressed", lambda arrays: 1)
    page = write_html(splash, tmp_path / "a.html", budget=1.2)
    assert page.bytes <= 1.2e6 and page.thinned.startswith("thinned to 1.2 MB: at most")


def test_too_small_a_budget_is_refused_at_once(splash, tmp_path):
    with pytest.raises(NonstickError, match=r"an empty page takes 0\.9 MB already"):
        write_html(splash, tmp_path / "a.html", budget=0.5)


def test_compressed_counts_like_the_page():
    import zstandard

    data = np.arange(1000, dtype=np.float32)
    assert html.compressed([data]) == len(zstandard.ZstdCompressor(level=12).compress(data.tobytes()))


def command(*words):
    with pytest.raises(SystemExit) as leave:
        main(["view", *map(str, words)])
    return leave.value.code


def test_command_writes_a_page(plane, tmp_path, capsys):
    assert command(plane, "--html", tmp_path / "p.html", "--frames", "1:4:2", "--colour", "pressure") == 0
    assert "p.html: 2 frames," in capsys.readouterr().out


def test_nobody_is_answered_while_a_page_is_written(plane, tmp_path):
    """viser draws by a server: it listens on this computer, and its token is told to nobody."""
    before, answers = listening(), set()

    def ask(done, of):
        for host, port in listening() - before:
            there = http.client.HTTPConnection(host, port, timeout=20)
            there.request("GET", "/")
            answers.add((host, there.getresponse().status))

    write_html(plane, tmp_path / "p.html", tick=ask)
    assert answers == {("127.0.0.1", 403)}
    assert listening() == before


def listening():
    """Addresses at which this process listens."""
    psutil = pytest.importorskip("psutil")
    return {tuple(c.laddr) for c in psutil.Process().net_connections("inet") if c.status == "LISTEN"}


@pytest.mark.parametrize(
    "words, sentence",
    [
        (["--html", "x.png"], "choose a name that ends in .html"),
        (["--html", "x.html", "--colour", "red"], "--colour is one of liquid"),
        (["--html", "x.html", "--frames", "90:99"], "has frames 0 to 6, and none of them is asked for"),
        (["--html", "x.html", "--budget", "-1"], "an empty page takes 0.9 MB already"),
    ],
)
def test_mistakes_end_in_one_sentence(splash, capsys, words, sentence):
    assert command(splash, *words) == 2
    error = capsys.readouterr().err
    assert sentence in error and "Traceback" not in error


def test_runs_of_heat_are_refused(tmp_path, capsys):
    from nonstick import Scene
    from nonstick.sim.run.loop import run

    run(Scene.load("heat", {"domain.resolution": 8, "time.frames": 1}), tmp_path / "heat")
    assert command(tmp_path / "heat") == 2
    assert "is a run of heat, and the page shows runs of liquid" in capsys.readouterr().err


def test_a_folder_that_is_no_run_is_refused(tmp_path, capsys):
    assert command(tmp_path) == 2
    assert "is not a run directory" in capsys.readouterr().err
