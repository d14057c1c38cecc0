"""Sweeps: every combination is made, what is missing is made again, a failure stays alone."""

from __future__ import annotations

import csv
import json
import os
import signal
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import nonstick
from nonstick import NonstickError, Scene
from nonstick.files.lock import Lock
from nonstick.files.rundir import RunDirectory
from nonstick.sim.run.loop import run
from nonstick.sweeps import SweepPlan, SweepTable, parse_vary
from nonstick.sweeps.runs import Order, make

TINY = {"domain.resolution": 8, "time.frames": 2}


def tiny(**more) -> Scene:
    return Scene.load("still", TINY | more)


# -- the plan ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text, expected",
    [
        ("a.b=1,2.5,x", ("a.b", [1, 2.5, "x"])),
        ("g=[0, -1],[0, -2]", ("g", [[0, -1], [0, -2]])),
        ("v='a,b',c", ("v", ["a,b", "c"])),
        ("on=true", ("on", [True])),
    ],
)
def test_values_are_parted_at_commas_outside_of_brackets(text, expected):
    assert parse_vary(text) == expected


@pytest.mark.parametrize("text", ["", "=1", "a", "a=", "a= "])
def test_a_vary_without_values_is_refused(text):
    with pytest.raises(NonstickError, match="--vary needs"):
        parse_vary(text)


def test_every_combination_has_a_name_of_its_own_and_its_values():
    plan = SweepPlan(tiny(), {"domain.resolution": [8, 12], "physics.density": [1000.0, 900.0, 1.0]})
    assert len({part.name for part in plan.parts}) == 6
    assert [part.scene.model.physics.density for part in plan.parts] == [1000.0, 900.0, 1.0] * 2
    assert {part.scene.shape[0] for part in plan.parts} == {8, 12}


@pytest.mark.parametrize(
    "vary, message",
    [
        ({}, "nothing varies"),
        ({"domain.resolution": []}, "no values"),
        ({"domain.resolution": [8, 8]}, "twice"),
        ({"domain.resolution": [8, -1]}, "the run with domain.resolution=-1 cannot be made"),
        ({"domain.resolutoin": [8]}, "resolution"),
        ({"physics.density": list(range(1, 200)), "domain.resolution": list(range(8, 80))}, "at most"),
    ],
)
def test_a_wrong_plan_is_refused_before_anything_runs(vary, message):
    with pytest.raises(NonstickError, match=message):
        SweepPlan(tiny(), vary)


def test_a_plan_is_read_back_and_can_grow(tmp_path):
    plan = SweepPlan(tiny(), {"domain.resolution": [8, 12]})
    plan.save(tmp_path)
    assert [p.name for p in SweepPlan.load(tmp_path).parts] == [p.name for p in plan.parts]
    grown = SweepPlan(tiny(), {"domain.resolution": [12, 10]}).joined(tmp_path)
    assert grown.vary == {"domain.resolution": [8, 12, 10]}
    with pytest.raises(NonstickError, match="another sweep"):
        SweepPlan(tiny(**{"physics.density": 5.0}), {"domain.resolution": [8]}).joined(tmp_path)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"scene": 1, "vary": {}, "where": "", "folder": ""}', "\0"])
def test_a_damaged_plan_is_one_sentence(tmp_path, text):
    (tmp_path / "sweep.json").write_text(text)
    with pytest.raises(NonstickError, match="damaged"):
        SweepPlan.load(tmp_path)


# -- the runs ---------------------------------------------------------------------------------------------


def test_all_runs_are_made_as_if_each_was_run_alone_and_a_second_call_makes_nothing_again(tmp_path):
    reports = []
    scene = tiny()
    table = nonstick.sweep(scene, {"domain.resolution": [8, 12]}, tmp_path / "s", jobs=2, progress=reports.append)
    assert list(table["status"]) == ["done", "done"] and table.failed() == []
    assert np.array_equal(table["domain.resolution"], [8, 12])
    assert sorted(r.ended.name for r in reports if r.ended) == ["resolution-12", "resolution-8"]
    assert reports[-1].frames == reports[-1].of == 4

    alone = run(scene.replace({"domain.resolution": 12}), tmp_path / "alone")
    for frame in alone.frames():
        one, other = (d / "frames" / f"{frame:06d}.npz" for d in (alone.path, tmp_path / "s" / "resolution-12"))
        with np.load(one) as a, np.load(other) as b:
            assert all(np.array_equal(a[k], b[k]) for k in a)

    with open(tmp_path / "s" / "sweep.csv", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["run"] for row in rows] == ["resolution-8", "resolution-12"]
    assert float(rows[0]["largest_kkt"]) == table["largest_kkt"][0]

    before = {f: f.stat().st_mtime_ns for f in (tmp_path / "s").glob("*/frames/*.npz")}
    again = nonstick.sweep(tmp_path / "s")
    assert list(again["seconds"]) == list(table["seconds"])
    assert before == {f: f.stat().st_mtime_ns for f in (tmp_path / "s").glob("*/frames/*.npz")}


def test_a_run_that_fails_stays_alone_and_is_made_by_the_next_call(tmp_path):
    (tmp_path / "s" / "resolution-8").mkdir(parents=True)
    plan = {"domain.resolution": [8, 12]}
    SweepPlan(tiny(), plan).save(tmp_path / "s")
    (tmp_path / "s" / "resolution-8" / "mine.txt").write_text("not a run")
    table = nonstick.sweep(tiny(), plan, tmp_path / "s", jobs=1)
    assert list(table["status"]) == ["failed", "done"]
    assert "not a run" in table["error"][0]
    assert (tmp_path / "s" / "resolution-8" / "mine.txt").read_text() == "not a run"
    (tmp_path / "s" / "resolution-8" / "mine.txt").unlink()
    assert list(nonstick.sweep(tmp_path / "s")["status"]) == ["done", "done"]


def test_a_run_that_was_begun_goes_on_where_it_stopped(tmp_path):
    scene = tiny()
    plan = {"domain.resolution": [8]}
    SweepPlan(scene, plan).save(tmp_path)
    run(scene.replace({"time.frames": 1, "domain.resolution": 8}), tmp_path / "resolution-8")
    assert nonstick.sweep(scene, plan, tmp_path)["frames"][0] == 2
    log = RunDirectory.open(tmp_path / "resolution-8").log_lines()
    assert any(line["kind"] == "resume" and "frame 1" in line["message"] for line in log)


def test_directories_that_are_no_sweep_are_left_alone(tmp_path):
    (tmp_path / "letter.txt").write_text("dear")
    with pytest.raises(NonstickError, match="not a sweep"):
        nonstick.sweep(tiny(), {"domain.resolution": [8]}, tmp_path)
    with pytest.raises(NonstickError, match="is a file"):
        nonstick.sweep(tiny(), {"domain.resolution": [8]}, tmp_path / "letter.txt")
    assert os.listdir(tmp_path) == ["letter.txt"]


def test_two_sweeps_at_a_time_in_one_directory_are_refused(tmp_path):
    with Lock(tmp_path), pytest.raises(NonstickError, match="is writing in"):
        SweepPlan(tiny(), {"domain.resolution": [8]}).save(tmp_path)
        nonstick.sweep(tmp_path)


@pytest.mark.parametrize("given", [{"jobs": 0}, {"threads": 0}, {"jobs": 2, "scheduler": "tcp://127.0.0.1:1"}])
def test_wrong_numbers_are_refused(tmp_path, given):
    with pytest.raises(NonstickError, match=r"at least 1|leave one out"):
        nonstick.sweep(tiny(), {"domain.resolution": [8]}, tmp_path / "s", **given)


# -- the child --------------------------------------------------------------------------------------------


def _order(directory: Path, scene: Scene) -> Order:
    return Order(str(directory), scene.to_dict(), "here", str(directory.parent), 1)


def test_a_child_that_nobody_wants_any_more_ends(tmp_path):
    scene = tiny(**{"time.frames": 500})
    began = time.monotonic()
    error = make(_order(tmp_path / "r", scene), lambda: not (tmp_path / "r" / "frames" / "000001.npz").exists())
    assert error == "stopped" and time.monotonic() - began < 120
    assert RunDirectory.open(tmp_path / "r").status() == "stopped"


def test_a_child_that_is_killed_is_said_to_be(tmp_path):
    scene = tiny(**{"time.frames": 500})

    def kill() -> bool:
        lock = tmp_path / "r" / "lock"
        if (tmp_path / "r" / "frames" / "000001.npz").exists():
            os.kill(json.loads(lock.read_text())["pid"], signal.SIGKILL)
        return True

    assert make(_order(tmp_path / "r", scene), kill) == "its process was ended by signal 9"


# -- the table --------------------------------------------------------------------------------------------


@pytest.fixture
def table(tmp_path) -> SweepTable:
    rows = [
        {"run": f"{a}-{b}", "a": a, "b": b, "status": "done", "error": "", "y": a * len(b)}
        for a in (1.0, 3.0, 2.0)
        for b in ("u", "vv")
    ]
    del rows[0]["y"]
    return SweepTable(rows, ["a", "b"], tmp_path)


def test_columns_are_arrays_and_missing_numbers_are_nan(table):
    assert np.isnan(table["y"][0]) and list(table["y"][1:]) == [2, 3, 6, 2, 4]
    assert list(table["b"]) == ["u", "vv"] * 3
    with pytest.raises(NonstickError, match="did you mean 'status'"):
        table["statuss"]


def test_plots_draw_a_line_for_every_value_of_the_other_keys(table, tmp_path):
    pytest.importorskip("matplotlib")
    svg = table.plot("y", "a", tmp_path / "p.svg").read_text()
    assert "<!-- b = u -->" in svg and "<!-- b = vv -->" in svg
    assert table.plot("y", "b", tmp_path / "q.png").stat().st_size > 1000
    with pytest.raises(NonstickError, match="holds words"):
        table.plot("status", "a", tmp_path / "r.png")
    with pytest.raises(NonstickError, match=r"\.png, \.svg or \.pdf"):
        table.plot("y", "a", tmp_path / "r.xyz")


def test_the_table_shows_itself(table):
    assert "6 of 6 runs done" in repr(table) and table._repr_html_().count("<tr>") == 7


def test_probes_have_columns(tmp_path):
    probe = {"name": "gauge", "type": "height", "at": [0.5, 0.0]}
    scene = tiny(probe=[probe])
    table = nonstick.sweep(scene, {"domain.resolution": [8]}, tmp_path / "s")
    assert abs(table["gauge.height.last"][0] - 0.5) < 0.1
    assert table["gauge.height.min"][0] <= table["gauge.height.max"][0]


# -- a Dask cluster ---------------------------------------------------------------------------------------


def test_an_address_where_nobody_answers_is_one_sentence(tmp_path, monkeypatch):
    pytest.importorskip("distributed")
    from nonstick.sweeps import runs as workers

    monkeypatch.setattr(workers, "PATIENCE", 0.5)
    with pytest.raises(NonstickError, match="no Dask scheduler answers"):
        nonstick.sweep(tiny(), {"domain.resolution": [8]}, tmp_path / "s", scheduler="tcp://127.0.0.1:1")


@pytest.mark.slow
def test_a_run_whose_worker_is_killed_is_continued_by_another_one(tmp_path):
    distributed = pytest.importorskip("distributed")
    out, killed = tmp_path / "s", []
    frames = 20
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        with distributed.Client(cluster) as client:
            pids = client.run(os.getpid)

        def kill() -> None:
            while not list(out.glob("*/frames/000003.npz")):
                time.sleep(0.02)
            killed.append(next(iter(pids.values())))
            os.kill(killed[0], signal.SIGKILL)

        threading.Thread(target=kill, daemon=True).start()
        table = nonstick.sweep(
            tiny(**{"time.frames": frames}), {"domain.resolution": [8, 9]}, out, scheduler=cluster.scheduler_address
        )
    assert killed and list(table["status"]) == ["done"] * 2
    assert list(table["frames"]) == [frames] * 2
    alone = run(tiny(**{"time.frames": frames}), tmp_path / "alone")
    with (
        np.load(alone.path / "frames" / f"{frames:06d}.npz") as a,
        np.load(out / "resolution-8" / "frames" / f"{frames:06d}.npz") as b,
    ):
        assert all(np.array_equal(a[k], b[k]) for k in a)
