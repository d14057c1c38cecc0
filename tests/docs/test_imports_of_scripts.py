"""The scripts beside the package: what they import from nonstick is there. Most of them run too long for a test."""

import ast
import importlib

import pages
import pytest

FOLDERS = ("docs", "benchmarks", "examples", "tools")
SCRIPTS = sorted(file for folder in FOLDERS for file in (pages.ROOT / folder).glob("*.py"))


def imported(text):
    """(module, name) of each `from nonstick… import name`, those inside functions too."""
    nodes = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ImportFrom)]
    found = [(node.module or "", name.name) for node in nodes for name in node.names if not node.level]
    return [(module, name) for module, name in found if module.split(".")[0] == "nonstick"]


def there(module, name):
    """True if a module has the name, or if it needs a package that is not installed."""
    try:
        return hasattr(importlib.import_module(module), name) or bool(importlib.import_module(f"{module}.{name}"))
    except ModuleNotFoundError as error:
        return not str(error.name).startswith("nonstick")


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda file: f"{file.parent.name}/{file.name}")
def test_names_that_a_script_imports_exist(script):
    missing = [of for of in imported(script.read_text(encoding="utf-8")) if not there(*of)]
    assert not missing


def test_missing_names_and_imports_inside_functions_are_found():
    text = "def f():\n    from nonstick.sim import kinds\n    from nonstick.sim.kinds import nothing\n"
    assert [there(*of) for of in imported(text)] == [True, False]
