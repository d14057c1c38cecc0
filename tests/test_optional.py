"""Packages that only some users need: everything else works without them, and the message says how to get them."""

import json
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from nonstick.bench import figures
from nonstick.bench.registry import Plan
from nonstick.core.optional import install, missing, need
from nonstick.errors import NonstickError

#: all that `pip install nonstick` does not bring
OPTIONAL = ("matplotlib", "PIL", "imageio_ffmpeg", "trimesh", "igl", "pyamg", "osqp")
BLOCK = f"""
import sys
from pathlib import Path
for name in {OPTIONAL!r}:
    sys.modules[name] = None  # `import` fails, and `find_spec` finds nothing
"""


def without(code: str, folder) -> subprocess.CompletedProcess:
    """Run Python code where the optional packages cannot be imported."""
    return subprocess.run([sys.executable, "-c", BLOCK + code], cwd=folder, capture_output=True, text=True, timeout=600)


def command(words: str, folder) -> subprocess.CompletedProcess:
    return without(f"from nonstick.cli import main\nmain({words.split()!r})", folder)


def test_a_missing_package_is_named_with_the_command_that_installs_it():
    assert missing("pictures", "numpy", "scipy") is None
    with pytest.raises(NonstickError, match=r"no_such is not installed; .* pip install .*\[mesh\]'"):
        need("mesh", "numpy", "no_such")


def test_solving_needs_none_of_them(tmp_path):
    done = without(
        "import numpy as np, scipy.sparse as sp, nonstick\n"
        "A = sp.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(9, 9)).tocsr()\n"
        "print(nonstick.solve(A, np.linspace(-1.0, 1.0, 9)).converged)",
        tmp_path,
    )
    assert done.returncode == 0 and done.stdout.strip() == "True", done.stderr


@pytest.mark.slow
def test_a_run_writes_its_frames_and_says_how_to_get_the_movie(tmp_path):
    done = command("run circle --frames 2 --set domain.resolution=16 --out run", tmp_path)
    assert done.returncode == 0, done.stderr
    assert len(list((tmp_path / "run" / "frames").glob("*.npz"))) == 3 and (tmp_path / "run" / "stats.csv").is_file()
    assert not (tmp_path / "run" / "preview.mp4").exists()
    told = [line for line in done.stdout.splitlines() if line.startswith("no movie: ")]
    assert len(told) == 1 and install("pictures") in told[0] and "nonstick render run" in told[0]

    painted = command("render run", tmp_path)
    assert painted.returncode == 2 and install("pictures") in painted.stderr
    assert "Traceback" not in painted.stderr


def test_a_movie_that_was_asked_for_is_refused_before_the_run(tmp_path):
    done = command("run circle --movie --out run", tmp_path)
    assert done.returncode == 2 and install("pictures") in done.stderr
    assert not (tmp_path / "run").exists()


def test_bodies_have_surfaces_without_any_of_them(tmp_path):
    done = command("run floating-box --frames 1 --set domain.resolution=16 --no-movie --out run", tmp_path)
    assert done.returncode == 0, done.stderr
    bodies = json.loads((tmp_path / "run" / "bodies.json").read_text())
    assert bodies and (tmp_path / "run" / bodies[0]["surface"]).is_file()


def test_a_bench_table_needs_none_of_them(tmp_path):
    done = command("bench circle2d --sizes 12 --methods auto psor", tmp_path)
    assert done.returncode == 0 and "psor" in done.stdout, done.stderr


def test_a_table_without_matplotlib_has_no_figures_and_says_so(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    plan = Plan((8,), (), folder=tmp_path)
    plan.draw("x", figures.Chart({"t": [lambda axes: axes.plot([1.0, 2.0])]}, "x", "y").draw)
    assert not plan.drawn and not list(tmp_path.iterdir())
    assert install("pictures") in plan.undrawn.pop()


def test_the_advice_fits_the_place_where_the_package_is(monkeypatch, tmp_path):
    from nonstick.core import optional

    clone = Path(optional.__file__).parents[3]
    inside = (clone / "pyproject.toml").is_file()
    assert install("mesh") == (
        f"pip install -e {shlex.quote(f'{clone}[mesh]')}" if inside else "pip install 'nonstick[mesh]'"
    )
    monkeypatch.setattr(optional, "__file__", str(tmp_path / "lib" / "nonstick" / "core" / "optional.py"))
    assert install("mesh") == "pip install 'nonstick[mesh]'"
