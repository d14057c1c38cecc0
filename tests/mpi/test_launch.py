"""`--ranks N` and the command line under mpiexec: one sentence and exit code 2 for every failure."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

from nonstick import cases
from nonstick.core.optional import missing
from nonstick.files.rundir import RunDirectory
from nonstick.parallel import launch
from nonstick.parallel.launch import _without_ranks, on_ranks

launch.find_petsc()
pytestmark = [
    pytest.mark.skipif(launch.ranks() > 1, reason="these tests start ranks themselves"),
    pytest.mark.skipif(missing("mpi", "mpi4py", "petsc4py") is not None, reason="needs the environment of make mpi"),
]


@pytest.fixture
def problem(tmp_path):
    case = cases.build("sphere3d", 12).problem
    M = case.A.matrix()
    path = tmp_path / "p.npz"
    np.savez(
        path, A_data=M.data, A_indices=M.indices, A_indptr=M.indptr, b=case.b, lower=case.box.lower,
        upper=case.box.upper, cells=case.A.cells,
    )  # fmt: skip
    return path


def nonstick(*words, **more):
    environment = os.environ | {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "nonstick", *map(str, words)], capture_output=True, text=True, timeout=300,
        env=environment, **more,
    )  # fmt: skip
    # a first use compiles, and says so
    done.stderr = "".join(
        line for line in done.stderr.splitlines(True) if not line.startswith(("compiling", "compiled"))
    )
    return done


def test_a_file_is_solved_on_two_ranks_as_on_one_and_by_petsc(problem, tmp_path):
    one = nonstick("solve", problem, "--out", tmp_path / "one.npz", "--json", "-")
    two = nonstick("solve", problem, "--ranks", 2, "--out", tmp_path / "two.npz", "--json", "-")
    peer = nonstick(
        "solve", problem, "--ranks=2", "--method", "petsc-rsls", "--out", tmp_path / "peer.npz", "--json", "-"
    )
    assert [run.stderr for run in (one, two, peer)] == [""] * 3
    rows = [json.loads(run.stdout.splitlines()[-1]) for run in (one, two, peer)]
    assert all(row["converged"] for row in rows)
    assert rows[1]["ranks"] == 2
    assert rows[1]["iterations"] <= 1.3 * rows[0]["iterations"]
    x = [np.load(tmp_path / name)["x"] for name in ("one.npz", "two.npz", "peer.npz")]
    for name in ("two.npz", "peer.npz"):
        with np.load(tmp_path / name) as file:
            assert file["kkt"] <= 1e-6 and file["converged"] and file["status"] == "converged"
    for other in x[1:]:
        assert np.abs(other - x[0]).max() < 1e-4 * np.abs(x[0]).max()


def test_bad_input_ends_in_one_sentence(problem, tmp_path):
    for words in (("solve", tmp_path / "none.npz"), ("solve", problem, "--method", "pi-mg")):
        run = nonstick(*words, "--ranks", 2)
        assert run.returncode == 2
        assert len(run.stderr.strip().splitlines()) == 1, run.stderr
        assert run.stderr.startswith("nonstick: ")


CRASH = """
import os, sys, signal
from nonstick import NonstickError
from nonstick.parallel.launch import end_together
from nonstick.parallel.comm import world
def command():
    if world().rank == 1:
        {what}
    world().wait()
    world().wait()
end_together(command)
"""


def test_a_rank_that_fails_alone_ends_all(tmp_path):
    """The others wait for it: without an end they would wait for ever."""
    script = tmp_path / "crash.py"
    script.write_text(CRASH.format(what="print('nonstick: the disk is full', file=sys.stderr); raise SystemExit(2)"))
    environment = os.environ | {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    run = subprocess.run(
        ["mpiexec", "--quiet", "--oversubscribe", "-n", "2", sys.executable, script], env=environment, timeout=120,
        capture_output=True, text=True,
    )  # fmt: skip
    assert run.returncode == 2
    assert run.stderr.strip() == "nonstick: the disk is full"


def test_a_killed_rank_is_one_sentence_and_exit_code_2(tmp_path):
    plugin = tmp_path / "kill.py"
    plugin.write_text(
        "import os, signal\nfrom nonstick.parallel.comm import world\n"
        "if os.environ.get('OMPI_COMM_WORLD_SIZE'):\n"
        "    if world().rank == 1: os.kill(os.getpid(), signal.SIGKILL)\n"
        "    world().wait()\n"
    )
    run = nonstick("--plugin", plugin, "solve", tmp_path / "p.npz", "--ranks", 2)
    assert run.returncode == 2
    assert len(run.stderr.strip().splitlines()) == 1, run.stderr
    assert "a rank was killed (signal 9)" in run.stderr and "resume" not in run.stderr


DIE = """
import os, pathlib, signal, threading, time
from nonstick.parallel.comm import world
def die():
    while not pathlib.Path({sign!r}).exists():
        time.sleep(0.02)
    os.kill(os.getpid(), signal.SIGKILL)
if os.environ.get("OMPI_COMM_WORLD_SIZE") and world().rank == 1:
    threading.Thread(target=die, daemon=True).start()
"""
FULL = """
import os, resource
from nonstick.parallel.comm import world
if os.environ.get("OMPI_COMM_WORLD_SIZE") and world().rank == 1:
    resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))
"""


def test_a_run_goes_on_after_a_killed_rank_and_a_full_disk(tmp_path):
    """Both end in one sentence and exit code 2, and three ranks go on where two were."""
    out = tmp_path / "run"
    (tmp_path / "die.py").write_text(DIE.format(sign=str(out / "frames" / "000002.npz")))
    (tmp_path / "full.py").write_text(FULL)
    small = ("--set", "domain.resolution=8", "--set", "output.checkpoint_every=1")
    killed = nonstick(
        "--plugin", tmp_path / "die.py", "run", "dam-break-box", *small, "--frames", 5000, "--out", out, "--ranks", 2
    )
    assert killed.returncode == 2
    assert "a rank was killed (signal 9)" in said(killed) and "nonstick resume goes on" in said(killed)
    frames = len(RunDirectory.open(out).frames())
    assert frames >= 3
    last = ("--frames", frames + 2, "--no-movie")
    full = nonstick("--plugin", tmp_path / "full.py", "resume", out, *last, "--ranks", 2)
    assert full.returncode == 2
    assert "rank 1 of 2: cannot use" in said(full)
    more = nonstick("resume", out, *last, "--ranks", 3)
    assert more.returncode == 0, more.stderr
    found = RunDirectory.open(out)
    assert found.frames() == list(range(frames + 3))
    ids = [np.sort(found.read_frame(k)["id"]) for k in (0, frames + 2)]
    np.testing.assert_array_equal(*ids)


def test_ranks_that_read_other_scenes_are_refused(tmp_path):
    words = [sys.executable, "-m", "nonstick", "run", "dam-break-box", "--out", str(tmp_path / "run"), "--set"]
    environment = os.environ | {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    command = ["mpiexec", "--quiet", "--oversubscribe", "-n", "1", *words, "domain.resolution=8", ":", "-n", "1"]
    run = subprocess.run(
        [*command, *words, "domain.resolution=10"], env=environment, timeout=120, capture_output=True, text=True
    )
    assert run.returncode == 2
    assert "rank 1 of 2 has read another scene than rank 0" in said(run)
    assert not (tmp_path / "run").exists()


def said(run):
    """The one sentence of a command that failed; progress and warnings do not count."""
    found = [line for line in run.stderr.splitlines() if line.startswith("nonstick: ")]
    assert len(found) == 1 and run.stderr.splitlines()[-1] == found[0], run.stderr
    return found[0]


def test_the_ranks_do_not_start_ranks():
    assert _without_ranks(["solve", "--ranks", "3", "p.npz", "--ranks=2"]) == ["solve", "p.npz"]
    with pytest.raises(ValueError, match="at least 1"):
        on_ranks(0)
