"""The Tab key: what the shell is offered."""

import os
import shutil
import subprocess
import sys

import pytest

from nonstick.cli import options


def test_scenes_and_scene_files(tmp_path, monkeypatch):
    from nonstick.scenes import builtin

    monkeypatch.chdir(tmp_path)
    (tmp_path / "circus.toml").write_text("")
    (tmp_path / "circus.txt").write_text("")
    assert dict(options.complete_builtin_scenes("")) == {**builtin("liquid"), **builtin("heat")}
    assert [name for name, _ in options.complete_scenes("circ")] == ["circle", "circus.toml"]
    assert [name for name, _ in options.complete_scenes(f"{tmp_path}/ci")] == [f"{tmp_path}/circus.toml"]
    assert options.complete_scenes("nowhere/a") == []


def test_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("runs/one", "runs/two", "other", "own"):
        (tmp_path / name).mkdir(parents=True)
    for name in ("runs/one", "runs/two", "own"):
        (tmp_path / name / "meta.json").write_text("{}")
    assert options.complete_runs("") == ["own", "runs/one", "runs/two"]
    assert options.complete_runs("runs/t") == ["runs/two"] and options.complete_runs("o") == ["own"]


def test_names_are_those_that_the_commands_know():
    from nonstick.files.formats.formats import FORMATS
    from nonstick.pictures.page.artist import COLOURS
    from nonstick.registry import methods
    from nonstick.scenes.scene import KINDS

    assert options.complete_formats("") == list(FORMATS) and options.complete_formats("v") == ["vdb", "vtk"]
    assert options.complete_kinds("") == list(KINDS)
    assert options.complete_colours("") == list(COLOURS)
    assert dict(options.complete_methods("")) == methods()
    assert "circle2d" in dict(options.complete_cases("circ")) and "circle2d" in options.complete_problems("circ")
    assert "slosh" in options.complete_validations("sl")


@pytest.mark.parametrize(
    "line, offered",
    [
        ("run tilt", {"tilted-tank"}),
        ("doc", {"doctor"}),
        ("export x --to us", {"usd"}),
        ("solve p.npz -m ipm-pd+h", {"ipm-pd+hs"}),
    ],
)
def test_the_command_answers_the_shell(line, offered):
    words = ["nonstick", *line.split()]
    own = {**os.environ, "_NONSTICK_COMPLETE": "complete_bash", "COMP_WORDS": " ".join(words),
           "COMP_CWORD": str(len(words) - 1)}  # fmt: skip
    done = subprocess.run([sys.executable, "-m", "nonstick"], env=own, capture_output=True, text=True)
    assert set(done.stdout.split()) == offered, done.stderr


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
def test_bash_completes(tmp_path):
    command = tmp_path / "nonstick"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m nonstick "$@"\n')
    command.chmod(0o755)
    script = """eval "$(nonstick --show-completion bash)"
        COMP_WORDS=(nonstick run tilt) COMP_CWORD=2
        $(complete -p nonstick | sed 's/.*-F \\([^ ]*\\) .*/\\1/') nonstick
        echo "${COMPREPLY[@]}" """
    own = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = subprocess.run(["bash", "-c", script], env=own, capture_output=True, text=True)
    assert done.stdout.split() == ["tilted-tank"], done.stderr
