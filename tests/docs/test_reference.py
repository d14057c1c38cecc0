"""The reference is complete: every name, key, column and command is on its page."""

import importlib
import importlib.util
import json
import pkgutil
import re

import pages
import pytest
from typer.testing import CliRunner

import nonstick
from nonstick.cli import app

REFERENCE = pages.ROOT / "docs" / "reference"


def page(name: str) -> str:
    return (REFERENCE / name).read_text(encoding="utf-8")


def words(text: str) -> set[str]:
    """Everything in backticks, in words; blocks of code do not describe anything."""
    text = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    return {word for code in re.findall(r"`([^`]+)`", text) for word in re.split(r"[^\w.+-]+", code)}


def packages() -> list[str]:
    """nonstick and those of its packages that say which of their names are public."""
    inside = [f"nonstick.{info.name}" for info in pkgutil.iter_modules(nonstick.__path__) if info.ispkg]
    return [name for name in ("nonstick", *inside) if hasattr(importlib.import_module(name), "__all__")]


@pytest.mark.parametrize("package", packages())
def test_every_public_name_is_in_the_api_page(package):
    listed = {line.rpartition(".")[2] for line in page("api.md").splitlines() if line.startswith("::: ")}
    assert set(importlib.import_module(package).__all__) <= listed


def test_every_entry_of_the_api_page_exists():
    for entry in (line.removeprefix("::: ") for line in page("api.md").splitlines() if line.startswith("::: ")):
        module, _, name = entry.rpartition(".")
        if module == "nonstick.torch" and importlib.util.find_spec("torch") is None:
            continue  # its build comes with make test-arrays
        assert hasattr(importlib.import_module(module), name), f"there is no {entry}"


def test_every_method_is_described():
    known = words(page("methods.md"))
    short = {name: name.partition("+")[2] for name in nonstick.methods()}
    missing = [name for name, tail in short.items() if name not in known and f"+{tail}" not in known]
    assert not missing


def test_every_scene_key_is_described():
    schema = json.loads(CliRunner().invoke(app, ["scenes", "--schema"]).stdout)
    tables = [schema, *schema.get("$defs", {}).values()]
    keys = {key for table in tables for key in table.get("properties", {})} - {"type"}
    assert keys <= words(page("scenes.md"))


def test_every_column_is_described():
    from nonstick.sim.liquid.stats import COLUMNS

    assert set(COLUMNS) <= words(page("runs.md"))


@pytest.mark.parametrize("command", [c.name or c.callback.__name__ for c in app.registered_commands])
def test_every_command_is_described(command):
    assert re.search(rf"nonstick .*\b{command}\b", page("cli.md")), f"nonstick {command} is not in cli.md"


def test_every_built_in_scene_is_listed():
    from nonstick.scenes import builtin

    text = page("scenes.md").partition("\n## Built-in scenes\n")[2].partition("\n## ")[0]
    listed = words(text)
    for first, last in re.findall(r"`([\w-]+-)1` … `\1(\d)`", text):
        listed |= {f"{first}{k}" for k in range(1, int(last) + 1)}
    assert builtin().keys() | builtin("heat").keys() <= listed
    assert len(builtin()) > 40
