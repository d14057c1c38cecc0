"""The picture of the packages is what the imports say now."""

import importlib
import inspect
import re
from pathlib import Path

import pytest

from nonstick.sim.liquid.step import Liquid

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "nonstick"
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")


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


def test_files_that_the_page_names_exist():
    rooms = (ROOT, SOURCE, SOURCE / "solvers", SOURCE / "sim" / "liquid")
    missing = [f for f in re.findall(r"\w[\w/]*\.py", PAGE) if not any((room / f).is_file() for room in rooms)]
    assert not missing


def test_every_package_has_its_row():
    table = PAGE.split("## The packages")[1].split("###")[0]
    listed = {name for row in re.findall(r"^\| (`[^|]*) \|", table, re.M) for name in re.findall(r"`(\w+)`", row)}
    there = {f.stem for f in SOURCE.glob("*.py")} | {f.parent.name for f in SOURCE.glob("*/__init__.py")}
    assert listed == there - {"__init__", "__main__"}


def test_the_walk_of_a_step_is_its_source():
    walk = PAGE.split("Liquid.step  ")[1].split("```")[0]
    source = inspect.getsource(Liquid.step)
    named = re.findall(r"^    (\w+) ", walk, re.M)
    assert named == [*re.findall(r"self\.(\w+)\(", source), "Report"]
