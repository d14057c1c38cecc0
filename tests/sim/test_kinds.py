"""Scenes of every kind go the same way: load, check, simulate, save, restore."""

import json

import numpy as np
import pytest

from nonstick import NonstickError, Scene, Simulation
from nonstick.scenes import KINDS, builtin, json_schema
from nonstick.sim import check, simulate
from nonstick.sim.kinds import kind_of
from nonstick.sim.run.loop import run

SMALL = {"liquid": ("still", {"domain.resolution": 12}), "heat": ("heat", {"domain.resolution": 16})}


@pytest.fixture(params=list(KINDS))
def scene(request):
    name, changes = SMALL[request.param]
    return Scene.load(name, {**changes, "time.frames": 2})


def test_every_kind_has_scenes_a_schema_and_a_class():
    assert set(SMALL) == set(KINDS)
    for kind, tables in KINDS.items():
        assert builtin(kind), f"no built-in scene of kind {kind}"
        schema = json.loads(json.dumps(json_schema(kind)))
        assert set(schema["properties"]) == set(tables.model_fields)
        assert kind_of(Scene.load(next(iter(builtin(kind))))).name == kind


def test_a_scene_of_any_kind_is_checked_and_simulated(scene):
    assert any("cells" in line for line in check(scene).facts)
    one, other = simulate(scene), simulate(scene)
    rows = one.next_frame()
    assert one.frame == 1 and one.time > 0.0
    assert {"step", "frame", "time", "dt", "unknowns", "iterations", "kkt", "converged", "session"} <= set(rows[0])
    assert set(rows[0]) <= set(kind_of(scene).columns)
    other.restore({name: np.array(values) for name, values in one.state().items()})
    one.next_frame()
    other.next_frame()
    for name, values in one.frame_arrays().items():
        assert np.array_equal(values, other.frame_arrays()[name])


def test_a_run_of_any_kind_says_what_it_is(scene, tmp_path):
    directory = run(scene, tmp_path / "run")
    meta = directory.meta()
    assert meta["kind"] == scene.kind and meta["shape"] == list(scene.shape) and meta["status"] == "done"
    assert meta["summary"]["steps"] == len(directory.rows()) and directory.frames() == [0, 1, 2]
    assert directory.scene().to_dict() == scene.to_dict()
    assert kind_of(scene).report(meta["summary"])


def test_kinds_that_do_not_fit():
    with pytest.raises(NonstickError, match="must be one of liquid, heat"):
        Scene({"kind": "gas", "domain": {"size": [1.0, 1.0]}})
    with pytest.raises(NonstickError, match="of kind 'heat'"):
        Simulation("heat")
    with pytest.raises(NonstickError, match="unknown key 'liquid'"):
        Scene({"kind": "heat", "liquid": []})
