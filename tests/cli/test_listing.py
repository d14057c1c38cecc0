"""`nonstick --help`, `--version`, `methods`, `cases`."""

import json

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


def test_version(text):
    assert text("--version").strip() == f"nonstick {nonstick.__version__}"


def test_methods(text):
    assert json.loads(text("methods", "--json")) == nonstick.methods()
    assert all(name in text("methods") for name in nonstick.methods())


def test_cases(text):
    from nonstick.bench import benchmarks

    told = json.loads(text("cases", "--json"))
    assert told == {name: entry.description for name, entry in benchmarks().items()}
