"""Scene files that once broke the program: each is answered in one sentence, or runs."""

import time
from pathlib import Path

import pytest

from nonstick import NonstickError, Scene
from nonstick.cli.terminal import plain
from nonstick.scenes import parse_override
from nonstick.sim.kinds import check
from nonstick.sim.run.loop import run

REPRO = Path(__file__).parents[1] / "repro"
DOMAIN = "[domain]\nsize = [1.0, 1.0]\nresolution = 16\n"
POOL = "[[liquid]]\nshape = {type = 'box', low = [0.0, 0.0], high = [1.0, 0.4]}\n"

REFUSED = {
    "deep": "nested too deeply",
    "bigint": "thousands of digits",
    "nullname": r"name contains the control character '\x00'",
    "ansi": r"name contains the control character '\x1b'",
    "fast": "1e+14 m/s",
    "force": "force.0.acceleration.0: should be at most 1e+15",
    "zd": "force.0.acceleration.0: should be at most 1e+15",
    "emptykey": "unknown key ''; known here: bodies",
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused_in_one_sentence(name):
    with pytest.raises(NonstickError) as error:
        check(Scene.load(REPRO / f"{name}.toml"))
    text = str(error.value)
    assert REFUSED[name] in text and f"{name}.toml" in text and len(text) < 400
    assert text == plain(text) and "\n" not in text


@pytest.mark.parametrize("name", ["nest22", "nest60"])
def test_nesting_takes_no_time(name):
    began = time.perf_counter()
    scene = Scene.load(REPRO / f"{name}.toml")
    scene.fingerprint()
    assert time.perf_counter() - began < 2.0
    assert not check(scene).warnings


def test_run_refuses_what_check_refuses(tmp_path):
    with pytest.raises(NonstickError, match="times across the domain"):
        run(Scene.load(REPRO / "fast.toml"), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_two_bodies_have_two_files(tmp_path):
    run(Scene.load(REPRO / "bn.toml"), tmp_path / "run")
    assert sorted(f.name for f in (tmp_path / "run" / "bodies").iterdir()) == ["ball-1-2.obj", "ball-1.obj"]


SENTENCES = {
    "a table for a list": ("[bodies]\nname = 'a'\n" + DOMAIN, "bodies: should be a list of tables: write [[bodies]]"),
    "a number for a table": ("domain = 3", "domain: should be a table (it is 3)"),
    "a number for a list": ("liquid = 3\n" + DOMAIN, "liquid: should be a list (it is 3)"),
    "a key called like a type": (DOMAIN + "float = 3", "unknown key 'domain.float'; known here: resolution, size"),
    "a table called like a type": ("Ramp = 3\n" + DOMAIN, "unknown key 'Ramp'; known here: bodies"),
    "one coordinate": ("[domain]\nsize = [1.0]", "domain.size: should have at least 2 entries and has 1"),
    "tiny cfl": (DOMAIN + POOL + "[time]\ncfl = 1e-20", "time.cfl: should be at least 0.0001 (it is 1e-20)"),
    "many substeps": (DOMAIN + POOL + "[time]\nmin_substeps = 10000000000", "time.min_substeps: should be at most"),
    "great velocity": (DOMAIN + POOL + "velocity = [1e20, 0.0]", "liquid.0.velocity.0: should be at most 1e+15"),
    "tiny density": (DOMAIN + POOL + "[physics]\ndensity = 1e-297", "physics.density: should be at least 1e-15"),
    "deep shapes": (DOMAIN + "[[solid]]\nshape = " + "{type = 'union', of = [" * 90 + "3" + "]}" * 90,
                    "more than 150 tables or lists inside each other"),
    "an empty key in a table": (DOMAIN + "'' = 3", "unknown key 'domain.'; known here: resolution, size"),
    "a key without its table": ("resolution = 3\n" + DOMAIN, "'resolution', did you mean 'domain.resolution'"),
    "long key": ("x" * 200_000 + " = 3\n" + DOMAIN, "unknown key 'xxx"),
    "long name": (f"name = '{'x' * 200_000}'\n" + DOMAIN, "name: should have at most 80 characters (it is 'xxx"),
    "long kind": (f"kind = '{'x' * 200_000}'\n" + DOMAIN, "kind is 'xxx"),
    "a list as kind": ("kind = []\n" + DOMAIN, "kind is []"),
}  # fmt: skip


@pytest.mark.parametrize("text, sentence", SENTENCES.values(), ids=SENTENCES)
def test_plain_sentences(text, sentence):
    with pytest.raises(NonstickError) as error:
        Scene.from_text(text, "bad.toml")
    assert sentence in str(error.value) and len(str(error.value)) < 400


def test_values_of_set_are_looked_at_too():
    for value in ("[" * 3000, "9" * 5000):
        with pytest.raises(NonstickError, match=r"--set time\.fps"):
            parse_override(f"time.fps={value}")
    for key in (".", "..", "time."):
        with pytest.raises(NonstickError, match="unknown key"):
            Scene.load("circle", dict([parse_override(f"{key}=1")]))


@pytest.mark.parametrize("table", ["inflow", "outflow", "force", "liquid", "solid"])
def test_missing_meshes_are_found_and_named(table):
    more = {"inflow": "velocity = [0.0, 0.0, 0.0]", "force": "acceleration = [0.0, 0.0, 0.0]"}.get(table, "")
    text = (
        "[domain]\nsize = [1.0, 1.0, 1.0]\nresolution = 8\n"
        "[[liquid]]\nshape = {type = 'box', low = [0.0, 0.0, 0.0], high = [1.0, 0.4, 1.0]}\n"
        f"[[{table}]]\nshape = {{type = 'mesh', file = 'nowhere.obj'}}\n{more}"
    )
    index = 1 if table == "liquid" else 0
    with pytest.raises(NonstickError, match=rf"^x.toml: {table}\.{index}\.shape: .*nowhere"):
        check(Scene.from_text(text, "x.toml"))


def test_a_cap_that_will_bind_is_foreseen():
    found = check(Scene.from_text(DOMAIN + POOL + "[time]\nmin_substeps = 500"))
    assert any("time.max_substeps allows 100" in line for line in found.warnings)
    found = check(Scene.from_text(DOMAIN + POOL + "[[outflow]]\nshape = {type='ball', centre=[9.0, 9.0], radius=0.1}"))
    assert any("outflow.0.shape holds no cell" in line for line in found.warnings)
    with pytest.raises(NonstickError, match="liquid holds no cell"):
        check(Scene.from_text(DOMAIN + "[[liquid]]\nshape = {type='ball', centre=[9.0, 9.0], radius=0.1}"))


def test_a_flow_that_runs_away_is_stopped(tmp_path):
    text = DOMAIN + POOL + "[[force]]\nacceleration = [1e14, 0.0]\n[time]\nframes = 2\nmax_substeps = 3"
    with pytest.raises(NonstickError, match="the velocity of the liquid reaches"):
        run(Scene.from_text(text), tmp_path / "run")
