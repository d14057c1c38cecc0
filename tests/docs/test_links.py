"""Links between pages lead somewhere: files exist, and so do the headings they point at."""

import re
from pathlib import Path
from unicodedata import normalize

import pages
import pytest

_LINK = re.compile(r"\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


def anchors(page) -> set[str]:
    """The anchors of a page, as Markdown makes them from its headings, and those that it sets itself."""
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    plain = (normalize("NFKD", title).encode("ascii", "ignore").decode().lower() for title in _HEADING.findall(text))
    set_there = re.findall(r'<a id="([^"]+)"', text)
    return {re.sub(r"[\s-]+", "-", re.sub(r"[^\w\s-]", "", title).strip()) for title in plain} | {*set_there}


def links(page) -> list[str]:
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    return [link for link in _LINK.findall(text) if "://" not in link]


@pytest.mark.parametrize("page", pages.pages(), ids=lambda page: str(page.relative_to(pages.ROOT)))
def test_links_lead_somewhere(page):
    for link in links(page):
        file, _, anchor = link.partition("#")
        target = (page.parent / file).resolve() if file else page
        assert target.exists(), f"{link} does not exist"
        if anchor:
            assert anchor in anchors(target), f"{link}: no such heading; there are {sorted(anchors(target))}"


@pytest.mark.parametrize("page", pages.pages(), ids=lambda page: str(page.relative_to(pages.ROOT)))
def test_files_that_are_named_exist(page):
    """`operators/masked.py` is a file of the source, the tests or the scripts, or one that the page shows.

    Recipes name files to be made.
    """
    if page.name == "recipes.md":
        return
    shown = {block.file for block in pages.blocks(page)}
    places = (pages.ROOT, pages.ROOT / "src" / "nonstick")
    for name in re.findall(r"`((?:\w+/)*\w+\.py)`", page.read_text(encoding="utf-8")):
        found = name in shown or any(
            (place / name).exists() or ("/" not in name and any(place.rglob(name))) for place in places
        )
        assert found, f"there is no {name}"


def test_every_page_is_in_the_menu():
    menu = (pages.ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    for page in sorted((pages.ROOT / "docs").rglob("*.md")):
        assert str(page.relative_to(pages.ROOT / "docs")) in menu, f"{page} is missing in the nav of mkdocs.yml"


def test_the_tests_that_security_names_are_there():
    root = Path(__file__).parents[2]
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", (root / "SECURITY.md").read_text(encoding="utf-8"))
    assert len(named) > 20
    missing = [pair for pair in named if f"def {pair[1]}(" not in (root / pair[0]).read_text(encoding="utf-8")]
    assert not missing
