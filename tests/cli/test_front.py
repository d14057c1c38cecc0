"""The page of `nonstick --help`: every command and option is there, it fits the terminal, and `rich` is not loaded."""

import os
import re
import subprocess
import sys

import pytest

from nonstick.cli import app


def page(*words, **variables):
    own = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "NO_COLOR", "FORCE_COLOR")} | variables
    return subprocess.run([sys.executable, "-m", "nonstick", *words], env=own, capture_output=True, check=False)


@pytest.mark.parametrize("columns", [50, 80, 140])
def test_commands_and_options_are_there_and_fit(columns):
    text = page("--help", COLUMNS=str(columns)).stdout.decode()
    assert max(map(len, text.splitlines())) <= columns
    flat = " ".join(re.sub("[│╭╮╰╯─]", " ", text).split())
    for command in app.registered_commands:
        name = command.name or command.callback.__name__
        assert f" {name} " in flat
        first = " ".join((command.help or command.callback.__doc__).split("\n\n")[0].split())
        assert columns < 80 or first in flat, name
    for option in ("--version", "-V", "--plugin", "--help", "-h", "[env var: NONSTICK_PLUGINS]", "Exit codes: 0 done"):
        assert columns < 80 or option in flat


def test_no_command_is_the_same_page():
    assert page().stdout.strip() == page("-h").stdout.strip() != b""


def test_where_there_is_no_unicode_the_frame_is_plain():
    text = page("-h", PYTHONIOENCODING="ascii", PYTHONUTF8="0").stdout.decode("ascii")
    assert "+- Commands -" in text and "| run " in text


def test_colours_are_for_terminals_only():
    assert b"\x1b" not in page("-h").stdout


def loaded(script):
    """What a script loads beside what Python has loaded anyway: modules of Python, and top names of packages."""
    whole = f"import sys\nbefore = set(sys.modules)\n{script}\nprint('LOADED', *sorted(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, "-c", whole], capture_output=True, text=True, check=True)
    names = done.stdout.rpartition("LOADED")[2].split()
    packages = {name.partition(".")[0] for name in names} - sys.stdlib_module_names
    return set(names) & sys.stdlib_module_names, packages, [name for name in names if name.startswith("nonstick.")]


def test_import_nonstick_loads_no_package_and_little_of_python():
    """Its time is that of `typing`: NumPy alone takes five times as long."""
    python, packages, own = loaded("import nonstick")
    assert packages == {"nonstick"} and own == ["nonstick._lazy"]
    assert not python & {"asyncio", "dataclasses", "inspect", "json", "logging", "pathlib", "subprocess"}


def test_the_help_page_loads_typer_and_nothing_else_that_is_not_ours():
    """Not rich either, unless typer cannot do without it, as typer 0.16 could not."""
    python, packages, own = loaded(
        "from nonstick.cli import main\ntry:\n    main(['--help'])\nexcept SystemExit:\n    pass"
    )
    assert {"nonstick", "typer"} <= packages <= {"nonstick"} | loaded("import typer, typer.main")[1]
    assert not any(name.split(".")[1] in ("kernels", "sim", "problem", "solvers", "scenes", "api") for name in own)
    assert not python & {"asyncio", "multiprocessing", "unittest"}
