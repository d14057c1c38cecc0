"""Each recipe of docs/recipes.md works: the very blocks of the page are run, a process and a folder for each recipe."""

import subprocess
import sys

import pages
import pytest

PAGE = pages.ROOT / "docs" / "recipes.md"
RECIPES = [title for title in pages.sections(PAGE) if title.startswith("Add ")]


def test_every_recipe_is_there():
    assert RECIPES == ["Add a method", "Add a preconditioner", "Add a scene", "Add a shape", "Add a kernel"]


@pytest.mark.parametrize("title", RECIPES)
def test_recipe_runs(title, tmp_path):
    command = [sys.executable, pages.__file__, str(PAGE), title]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
