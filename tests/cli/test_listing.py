"""`nonstick --help`, `--version`, `methods`, `cases`."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

import nonstick


@pytest.fixture
def text(run):
    def page(*words):
        code, out, _ = run(*words)
        assert code == 0
        return out

    return page


def test_help_names_every_command_and_shows_how_to_begin(text):
    page = text("--help")
    assert all(
        word in page for word in ("solve", "bench", "methods", "cases", "nonstick solve problem.npz", "Exit codes")
    )


def test_help_of_commands_has_an_example(text):
    for command in ("solve", "bench"):
        assert f"nonstick {command} " in text(command, "--help")


def test_version_names_the_commit_of_a_clone(text):
    root = Path(__file__).parents[2]
    head = ""
    if (root / ".git").exists() and shutil.which("git"):
        words = ["git", "-C", str(root), "rev-parse", "--short=8", "HEAD"]
        head = subprocess.run(words, capture_output=True, text=True).stdout.strip()
    told = text("--version").strip().removesuffix(".dirty")
    assert told == f"nonstick {nonstick.__version__}" + (f"+g{head}" if head else "")


def test_version_without_git(text, monkeypatch):
    monkeypatch.setenv("PATH", "")
    assert text("--version").strip() == f"nonstick {nonstick.__version__}"


def test_methods(text):
    assert json.loads(text("methods", "--json")) == nonstick.methods()
    assert all(name in text("methods") for name in nonstick.methods())


def test_cases(text):
    from nonstick.bench import benchmarks

    told = json.loads(text("cases", "--json"))
    assert told == {name: entry.description for name, entry in benchmarks().items()}


def test_cases_are_saved_and_solved(text, run, tmp_path):
    file = tmp_path / "circle.npz"
    assert "unknowns" in text("cases", "circle2d", "--size", "16", "--save", file)
    assert nonstick.load_problem(file).n == nonstick.cases.build("circle2d", 16).problem.n
    assert run("solve", file)[0] == 0
    folder = tmp_path / "all"
    text("cases", "--size", "8", "--save", folder)
    assert {path.name for path in folder.iterdir()} == {f"{name}-8.npz" for name in nonstick.cases.names()}


@pytest.mark.parametrize(
    "words, piece",
    [
        (("circle2d",), "--save circle2d.npz"),
        (("--save", "x.npz"), "name the problem"),
        (("circle2d", "--save", "x.txt"), "name it x.npz"),
        (("circl2d", "--save", "x.npz"), "did you mean 'circle2d'"),
        (("circle2d", "--save", "x.npz", "--size", "2"), "at least 4"),
    ],
)
def test_mistakes_in_saving_a_case(run, words, piece, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, _, errors = run("cases", *words)
    assert code == 2 and piece in errors and not list(tmp_path.iterdir())
