"""Every Python block of README, CONTRIBUTING and docs runs, and prints what the page shows."""

import subprocess
import sys

import pages
import pytest

#: recipes.md has a test for each of its sections, test_recipes.py
WITH_CODE = [page for page in pages.pages() if pages.runs(page) and page.name != "recipes.md"]
#: a whole shot: several runs, a movie, exports
LONG = {"artist.md"}


def _mark(page):
    return pytest.param(page, marks=pytest.mark.slow) if page.name in LONG else page


@pytest.mark.parametrize(
    "page", [_mark(page) for page in WITH_CODE], ids=lambda page: str(page.relative_to(pages.ROOT))
)
def test_page_runs(page, tmp_path):
    """In a process and a folder of its own: pages register methods and write files."""
    command = [sys.executable, pages.__file__, str(page)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_wrong_output_is_noticed(tmp_path, monkeypatch):
    page = tmp_path / "page.md"
    page.write_text("```python\nprint(1 + 1)\n```\n\n```text\n3\n```\n")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit, match="but the output is\n2"):
        pages.run(page)


def test_files_are_written_and_commands_run(tmp_path, monkeypatch):
    page = tmp_path / "page.md"
    page.write_text("`note.txt`:\n\n```toml\nhere\n```\n\n```console\n$ nonstick cases --help\n... cases ...\n```\n")
    monkeypatch.chdir(tmp_path)
    pages.run(page)
    assert (tmp_path / "note.txt").read_text() == "here\n"
