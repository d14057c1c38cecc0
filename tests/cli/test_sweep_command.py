"""`nonstick sweep` on the command line."""

from __future__ import annotations

import csv

from typer.testing import CliRunner

from nonstick.cli import app


def call(*words):
    return CliRunner().invoke(app, ["sweep", *map(str, words)])


def test_a_sweep_from_the_command_line_with_table_and_plot(tmp_path):
    out = tmp_path / "s"
    made = call("still", "-v", "domain.resolution=8,10", "-n", 1, "-o", out, "-j", 1, "-p", "steps:domain.resolution")
    assert made.exit_code == 0, made.output
    assert "resolution-8" in made.stdout and (out / "steps-domain.resolution.png").stat().st_size > 1000
    with open(out / "sweep.csv", encoding="utf-8") as file:
        assert [row["status"] for row in csv.DictReader(file)] == ["done", "done"]
    assert call(out).exit_code == 0


def test_mistakes_are_one_sentence(tmp_path):
    for words, part in [
        (("still", "-o", tmp_path / "a"), "nothing varies"),
        (("still", "-v", "domain.resolution", "-o", tmp_path / "a"), "--vary needs"),
        (("still", "-v", "domain.resolution=x", "-o", tmp_path / "a"), "cannot be made"),
        (("still", "-v", "domain.resolution=8", "-p", "seconds", "-o", tmp_path / "a"), "--plot needs COLUMN:KEY"),
        (("no-such-scene", "-v", "domain.resolution=8"), "no-such-scene"),
    ]:
        result = call(*words)
        text = result.output + str(result.exception)
        assert result.exit_code != 0 and part in text, text
    assert not (tmp_path / "a").exists()
