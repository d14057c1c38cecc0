"""The picture of the packages is what the imports say now."""

import importlib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def drawing(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "docs")
    return importlib.import_module("draw_architecture")


def test_picture_is_up_to_date(drawing):
    committed = drawing.PICTURE.read_text(encoding="utf-8")
    assert committed == drawing.draw(), "imports changed: run `python docs/draw_architecture.py` and commit the picture"


def write(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        path = folder.joinpath(*name.split("__")).with_suffix(".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def test_imports_inside_functions_count(drawing, tmp_path):
    source = write(
        tmp_path,
        low="",
        middle__one="from ..low import x",
        high="def f():\n    from nonstick.middle.one import y\n",
        typed="if TYPE_CHECKING:\n    from .high import z\n",
    )
    graph = drawing.import_graph(source)
    assert graph == {"low": set(), "middle": {"low"}, "high": {"middle"}, "typed": set()}
    assert drawing.rows(graph) == [["low", "typed"], ["middle"], ["high"]]


def test_arrows_that_follow_from_others_are_left_out(drawing):
    assert drawing.needed({"a": {"b", "c"}, "b": {"c"}, "c": set()}) == {"a": {"b"}, "b": {"c"}, "c": set()}


def test_circles_are_found_and_share_a_row(drawing):
    graph = {"a": {"b"}, "b": {"a", "c"}, "c": set()}
    assert drawing.circles(graph) == {"a", "b"}
    assert drawing.rows(graph) == [["c"], ["a", "b"]]
