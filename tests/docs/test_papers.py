"""docs/papers.md: it is what its script writes, no table or figure is missing, its commands and pictures exist."""

import importlib
import runpy
import shlex

import pages
import pytest
from typer.main import get_command

from nonstick import Scene, registry
from nonstick.bench import get
from nonstick.cli import app
from nonstick.cli.scene import load_scene
from nonstick.errors import NonstickError

DOCS = pages.ROOT / "docs"
MADE = runpy.run_path(str(DOCS / "make_papers.py"))
PAPERS = MADE["papers"]()
ROWS = [pytest.param(row, id=f"{paper['name']}, {row['item']}") for paper in PAPERS for row in paper["row"]]
#: the tables and figures that each paper has
TABLES = {"Lai": 12, "Chentanez–Müller": 1, "Andersen": 1, "Aanjaneya": 3, "Takahashi–Batty": 5}
FIGURES = {
    "Lai": ["3.1", "3.2", "4.1", "4.2", "4.3", *(f"5.{k}" for k in range(1, 12))],
    **{name: [str(k) for k in range(1, last + 1)]
       for name, last in (("Chentanez–Müller", 5), ("Andersen", 17), ("Aanjaneya", 14), ("Takahashi–Batty", 9))},
}  # fmt: skip


def test_the_page_is_what_the_script_writes():
    assert (DOCS / "papers.md").read_text(encoding="utf-8") == MADE["page"](), "python docs/make_papers.py"


def test_every_table_and_figure_has_its_row():
    for paper in PAPERS:
        name, items = paper["name"], [row["item"] for row in paper["row"]]
        wanted = [f"Table {k + 1}" for k in range(TABLES[name])] + [f"Figure {k}" for k in FIGURES[name]]
        assert [item for item in items if item.startswith(("Table", "Figure"))] == wanted
    assert len(PAPERS) == len(TABLES)


#: what a row may have
KNOWN = {
    "item", "what", "theirs", "their_size", "ours", "our_size", "unit", "dimension", "sizes", "counts", "commands",
    "version", "versions", "runs", "pictures", "status", "short", "because", "table", "their_sizes",
}  # fmt: skip


@pytest.mark.parametrize("row", ROWS)
def test_a_row_says_what_was_run(row):
    assert not set(row) - KNOWN
    assert row["status"] in MADE["STATUSES"]
    assert row["status"] == "reproduced" or (row["because"] and 0 < len(row["short"].split()) <= 10)
    ran = row.get("ours") or row.get("counts")
    assert row["status"] == "not run" or (ran and row["our_size"] and row["commands"] and row["version"])
    for line in row.get("counts", ()):
        assert len(line["ours"]) == len(row["sizes"]) and len(line["theirs"]) in (0, len(row["sizes"]))
    if any(line["unit"] in MADE["COUNTED"] for line in row.get("counts", ())):  # the numbers decide
        assert row["status"] in ("another set-up", MADE["judged"](row))
    for line in row.get("table", ()):
        assert len(line) == len(row["table"][0])
    for picture in row.get("pictures", ()):
        assert (DOCS / "images" / picture).is_file()
    for command in row.get("commands", ()):
        check(shlex.split(command))


@pytest.mark.parametrize(("theirs", "ours", "found"), [
    ([8.0, 9.0], [10.0, 9.0], "same"), ([100.0, 200.0], [80.0, 240.0], "same"), ([100.0], [60.0], "fewer"),
    ([10.0, 100.0], [5.0, 140.0], "more"), ([10.0, float("nan")], [10.0, 99.0], "same"), ([], [], ""),
])  # fmt: skip
def test_counts_are_judged_by_a_rule(theirs, ours, found):
    assert MADE["verdict"](theirs, ours) == found


def test_every_literal_name_says_what_it_reads_through():
    text = (DOCS / "explanation" / "as_printed.md").read_text(encoding="utf-8")
    assert all(f"`{name}`" in text for name in registry.entries() if "literal" in name)


def test_the_summary_is_short():
    """It fits on a screen: five papers, and one line for each reason."""
    assert len(MADE["overview"](PAPERS)) == 7 and len(MADE["differences"](PAPERS)) < 45


def test_runs_are_resumed_and_counts_are_kept(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(DOCS))
    papers = importlib.import_module("run_papers")
    monkeypatch.setattr(papers, "RUNS", tmp_path / "runs")
    monkeypatch.setattr(papers.make_papers, "MEASURED", tmp_path / "papers.json")
    monkeypatch.setattr(papers.make_papers, "PAGE", tmp_path / "papers.md")
    every = papers.commands()
    command = "nonstick bench lai-table9 --sizes 32 64 128"
    rows = every[command]
    assert papers.record(command) == {} and papers.seconds(command, rows) > papers.seconds(
        "nonstick bench tb-table5 --sizes 48", rows
    )
    directory = papers.folder(command)
    directory.mkdir(parents=True)
    (directory / "done.json").write_text('{"version": "x", "seconds": 3.0}')
    assert papers.seconds(command, rows) == 3.0
    papers.keep(command, {"Lai, Table 9, fas-mg, 64": {"value": 9.25, "version": "y"}})
    monkeypatch.setattr(papers, "RUNS", tmp_path / "another clone")
    assert papers.seconds(command, rows) == 3.0 and papers.record(command)["version"] == "x"
    assert "measured again with version y: `fas-mg` at 64" in papers.make_papers.PAGE.read_text(encoding="utf-8")
    monkeypatch.setattr(papers, "RUNS", tmp_path / "runs")
    (directory / "rows.json").write_text(
        """[
        {"case": "lai-table9", "method": "fas-mg", "n": 64, "iterations": 9.25, "version": "y"},
        {"case": "lai-table9 (published)", "method": "fas-mg", "n": 64, "iterations": 8},
        {"case": "lai-table9 from zero", "method": "pi-mg", "n": 64, "iterations": 14},
        {"case": "lai-table9", "method": "pi-pcg", "n": 64, "iterations": 3, "converged": false},
        {"case": "lai-table9", "method": "fmg", "n": 64, "iterations": null}]"""
    )
    found = papers.measured(command, rows)
    assert found["Lai, Table 9, fas-mg, 64"] == {"value": 9.25, "version": "y"}
    assert found["Lai, Table 9, pi-mg from zero, 64"]["value"] == 14
    assert not any("fmg" in key or key.endswith(("pi-mg, 64", "fas-mg, 128", "pi-pcg, 64")) for key in found)
    row = {"commands": ["nonstick bench x --sizes 32 --methods fmg", "nonstick bench x --sizes 32 64 -s time.cfl=8"]}
    assert [papers.owner(row, *of) for of in (("fmg", 32), ("pgs", 32), ("fmg", 128))] == [*row["commands"], None]
    words = papers.started(command, directory)
    assert words[1:4] == ["-m", "nonstick", "bench"] and "--resume" in words


def check(words):
    """The command parses, and the scenes, cases, methods, studies and figures that it names exist."""
    if words[0] == "python":
        script = pages.ROOT / words[1]
        assert script.is_file()
        if script.stem == "draw_papers":
            names, _, cells = " ".join(words[2:]).partition(" --cells ")
            assert names and set(names.split()) <= set(figures())
            assert not cells or int(cells) > 0
        elif script.stem == "draw_plots":
            assert words[2:]
            assert all(f'    "{word.partition(":")[0]}": (' in script.read_text(encoding="utf-8") for word in words[2:])
        elif script.stem == "draw_stencils":
            assert words[2:] and all(f'    "{word}": ' in script.read_text(encoding="utf-8") for word in words[2:])
        elif "--studies" in words:
            given = words[words.index("--studies") + 1 :]
            studies = [word for word in given[: next((k for k, w in enumerate(given) if w[:2] == "--"), None)]]
            assert studies and all(f"def {study}(sizes)" in script.read_text(encoding="utf-8") for study in studies)
        return
    assert words[0] == "nonstick"
    given = get_command(app).commands[words[1]].make_context(words[1], list(words[2:])).params
    if words[1] == "bench":
        get(given["case"]).plan(tuple(given["sizes"]), tuple(given["methods"]))
    else:
        assert words[1] == "run"
        load_scene(given["scene"], given["settings"])


def figures():
    """The names of docs/draw_papers.py."""
    text = (DOCS / "draw_papers.py").read_text(encoding="utf-8")
    return [
        line.strip().split('"')[1] for line in text.splitlines() if line.startswith('    "') and ": Figure(" in line
    ]


def test_scenes_of_the_figures_load(monkeypatch):
    monkeypatch.syspath_prepend(str(DOCS))
    drawn = importlib.import_module("draw_papers")
    assert list(drawn.FIGURES) == figures()
    for figure in drawn.FIGURES.values():
        for keys in figure.lines.values():
            Scene.load(figure.scene, {"domain.resolution": figure.cells, "time.frames": max(figure.frames), **keys})


def test_curves_are_drawn(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(str(DOCS))
    importlib.import_module("draw_plots").smoothers(32, tmp_path / "curves.png")
    assert (tmp_path / "curves.png").stat().st_size > 10_000


@pytest.mark.parametrize("wrong", ["bench lai-table99", "bench lai-table9 -m fsa-mg", "run sphere --set walls.glue=1"])
def test_a_command_that_names_nothing_is_found(wrong):
    with pytest.raises(NonstickError):
        check(["nonstick", *shlex.split(wrong)])
