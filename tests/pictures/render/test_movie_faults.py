"""A movie that ffmpeg did not finish is no movie."""

import os
import stat

import numpy as np
import pytest

from nonstick import NonstickError
from nonstick.pictures.render.movie import write_movie

ffmpeg = pytest.importorskip("imageio_ffmpeg")


def images(count=5):
    return iter(np.full((count, 64, 64, 3), 120, np.uint8))


def pretend(tmp_path, monkeypatch, script):
    """Put a script in the place of ffmpeg; its last argument is the movie."""
    file = tmp_path / "ffmpeg"
    file.write_text(f"#!/bin/sh\nfor movie; do :; done\n{script}\n")
    file.chmod(file.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setattr(ffmpeg, "get_ffmpeg_exe", lambda: str(file))


@pytest.mark.parametrize(
    "script, sentence",
    [
        ("head -c 1000 > /dev/null; echo 'disk quota exceeded' >&2; exit 3", "exit code 3: disk quota exceeded"),
        ("cat > /dev/null; echo half > $movie; kill -9 $$", "exit code -9"),
        ("cat > /dev/null; exit 0", "exit code 0"),
        ("cat > /dev/null; : > $movie", "exit code 0"),
    ],
)
def test_an_unfinished_movie_is_an_error(tmp_path, monkeypatch, script, sentence):
    pretend(tmp_path, monkeypatch, script)
    movie = tmp_path / "preview.mp4"
    with pytest.raises(NonstickError, match="could not finish the movie") as error:
        write_movie(movie, images(), 30.0)
    assert sentence in str(error.value) and "the frames are kept" in str(error.value)
    assert sorted(os.listdir(tmp_path)) == ["ffmpeg"]


def test_a_movie_that_was_there_stays(tmp_path, monkeypatch):
    movie = tmp_path / "preview.mp4"
    write_movie(movie, images(), 30.0)
    before = movie.read_bytes()
    pretend(tmp_path, monkeypatch, "exit 1")
    with pytest.raises(NonstickError):
        write_movie(movie, images(200), 30.0)
    assert movie.read_bytes() == before


def test_the_command_fails_with_the_movie(tmp_path, monkeypatch, capsys):
    from nonstick.cli import main

    pretend(tmp_path, monkeypatch, "exit 1")
    run = tmp_path / "run"
    with pytest.raises(SystemExit) as leave:
        main(["run", "circle", "-n", "1", "--movie", "-o", str(run), "-s", "domain.resolution=12"])
    assert leave.value.code == 2 and "nonstick render" in capsys.readouterr().err
    assert len(os.listdir(run / "frames")) == 2 and not (run / "preview.mp4").exists()


def test_an_error_while_painting_stops_ffmpeg(tmp_path):
    def broken():
        yield from images(2)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_movie(tmp_path / "preview.mp4", broken(), 30.0)
    assert not os.listdir(tmp_path)
