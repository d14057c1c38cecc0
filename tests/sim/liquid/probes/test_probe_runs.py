"""Probes in runs: they change nothing, survive a resume, and can be read, checked and drawn."""

import numpy as np
import pytest

from nonstick import NonstickError, Scene, Simulation, read_probes
from nonstick.sim import check
from nonstick.sim.run.loop import resume, run

PROBES = [
    {"name": "gauge", "type": "height", "at": [0.6, 0.0]},
    {"name": "row", "type": "height", "at": [0.2, 0.0], "to": [1.8, 0.0], "points": 5},
    {"name": "point", "type": "pressure", "at": [1.0, 0.2]},
    {"name": "plane", "type": "flow", "at": [1.0, 0.0], "normal": [1.0, 0.0]},
    {"name": "bowl", "type": "force", "on": "solid-1"},
    {"name": "v", "type": "velocity", "at": [0.6, 0.4]},
]


def scene(**more):
    return Scene.load("circle", {"domain.resolution": 20, "time.frames": 6, **more})


@pytest.mark.parametrize("more", [{}, {"surface.track": "grid"}, {"physics.viscosity": 5.0}])
def test_probes_change_nothing(more):
    plain, watched = Simulation(scene(**more)), Simulation(scene(probe=PROBES, **more))
    for _ in range(4):
        plain.next_frame()
        watched.next_frame()
    one, two = plain.state(), watched.state()
    assert all(np.array_equal(one[name], two[name]) for name in one)
    assert scene(**more).fingerprint() == scene(probe=PROBES, **more).fingerprint()


def test_a_resumed_run_has_the_same_table(tmp_path):
    run(scene(probe=PROBES), tmp_path / "whole")
    text = (tmp_path / "whole" / "probes.csv").read_text()
    resume(tmp_path / "whole", from_frame=3)
    assert (tmp_path / "whole" / "probes.csv").read_text() == text
    table = read_probes(tmp_path / "whole")
    assert table.units == {
        "gauge.height": "m", "row.mean": "m", "row.least": "m", "row.most": "m", "point.pressure": "Pa",
        "plane.flow": "m²/s", "plane.volume": "m²", "bowl.fx": "N/m", "bowl.fy": "N/m", "bowl.torque": "N m/m",
        "v.vx": "m/s", "v.vy": "m/s",
    }  # fmt: skip
    assert len(table) == 12 and table.time[-1] == pytest.approx(0.1)
    assert all(values.shape == table.time.shape for values in table.values())
    assert (np.diff(table.time) > 0).all()
    # the same simulation in Python
    simulation = Simulation(scene(probe=PROBES))
    while simulation.frame < 6:
        simulation.next_frame()
    own = simulation.probe_table()
    assert all(np.array_equal(own[name], table[name], equal_nan=True) for name in table)
    with pytest.raises(KeyError, match=r"gauge\.height"):
        table["gauge"]


def test_probes_may_change_before_a_resume(tmp_path):
    """A plane that is new starts at zero; the columns of the old table stay."""
    run(scene(probe=PROBES[3:4]), tmp_path / "run")
    before = read_probes(tmp_path / "run")
    more = scene(probe=[{"name": "new", "type": "height", "at": [0.6, 0.0]}, PROBES[3]])
    resume(tmp_path / "run", from_frame=5, scene=more)
    after = read_probes(tmp_path / "run")
    assert np.array_equal(before["plane.volume"], after["plane.volume"])
    assert np.isnan(after["new.height"][0]) and after["new.height"][-1] > 0.0


def test_a_run_without_probes_has_no_table(tmp_path):
    run(scene(**{"time.frames": 1}), tmp_path / "run")
    assert not (tmp_path / "run" / "probes.csv").exists()
    with pytest.raises(NonstickError, match=r"has no probes\.csv"):
        read_probes(tmp_path / "run")


def test_the_chart_of_a_run(tmp_path):
    pytest.importorskip("matplotlib")
    from typer.testing import CliRunner

    from nonstick.cli import app

    run(scene(probe=PROBES[2:4], **{"time.frames": 2}), tmp_path / "run")
    done = CliRunner().invoke(app, ["info", str(tmp_path / "run"), "--plot"])
    assert done.exit_code == 0 and "plot.png" in done.stdout
    assert (tmp_path / "run" / "plot.png").stat().st_size > 10_000


@pytest.mark.parametrize(
    "probe, sentence",
    [
        ({"type": "height"}, r"probe\.0: a probe of type height needs the key at"),
        ({"type": "velocity", "at": [0.1, 0.1], "on": "left"}, "a probe of type velocity has no key on; it has at"),
        ({"type": "pressure"}, "needs either the point `at`, or a wall"),
        ({"type": "pressure", "at": [0.1, 0.1], "on": "left"}, "needs either the point `at`, or a wall"),
        ({"type": "force", "on": "lid"}, "there is no wall or body called 'lid'; known are walls, left, right, bottom"),
        ({"type": "flow", "at": [0.1, 0.1], "normal": [0.0, 0.0]}, "must not be zero"),
        ({"type": "depth", "at": [0.1, 0.1]}, r"probe\.0\.type: should be one of"),
        ({"type": "height", "at": [0.1, 0.1, 0.1]}, "has 3 coordinates, but domain.size makes the scene 2D"),
    ],
)
def test_mistakes_are_named(probe, sentence):
    with pytest.raises(NonstickError, match=sentence):
        scene(probe=[probe])


def test_two_probes_need_two_names():
    with pytest.raises(NonstickError, match="two entries of probe are called 'a'"):
        scene(probe=[{"name": "a", **PROBES[2] | {"name": "a"}}, {**PROBES[0], "name": "a"}])


def test_check_says_where_nothing_can_be_measured():
    probes = [
        {"type": "pressure", "at": [3.0, 0.2]},
        {"type": "velocity", "at": [0.0, 0.0]},  # outside the bowl
        {"type": "force", "on": "solid-1", "shape": {"type": "ball", "centre": [1.0, 1.0], "radius": 0.1}},
        {"type": "force", "on": "solid-1"},
    ]
    found = check(scene(probe=probes))
    said = " / ".join(found.warnings)
    assert "probe.0 (pressure-1) lies outside the domain at (3, 0.2)" in said
    assert "probe.1 (velocity-2) lies inside a solid" in said
    assert "probe.2 (force-3) finds no wall" in said
    assert any("probe.3 (force-4) looks at 5.6" in line for line in found.facts)


@pytest.mark.parametrize("asked, held", [(None, False), (True, True)])
def test_frames_in_3d_can_hold_pressure(asked, held):
    more = {} if asked is None else {"output.pressure": asked}
    simulation = Simulation(Scene.load("sphere", {"domain.resolution": 8, **more}))
    simulation.next_frame()
    assert ("pressure" in simulation.frame_arrays()) == held


def test_pressure_of_a_viscous_step_is_that_of_both_projections():
    """Still honey presses like still water."""
    probe = {"name": "p", "type": "pressure", "at": [0.5, 0.1]}
    still = Scene.load("still", {"domain.resolution": 16, "physics.viscosity": 10.0, "probe": [probe]})
    simulation = Simulation(still)
    for _ in range(3):
        simulation.next_frame()
    assert simulation.probe_table()["p.pressure"][-1] == pytest.approx(9810 * 0.4, rel=0.02)
    assert simulation.frame_arrays()["pressure"].max() == pytest.approx(9810 * (0.5 - 0.5 / 16), rel=0.02)
