"""While kernels are compiled a command says so on stderr, once, and how long it took."""

import io
import json
import logging
import os
import subprocess
import sys
import time

import numpy as np
import pytest
import scipy.sparse as sp
from rich.console import Console

from nonstick.cli import terminal as module
from nonstick.cli.terminal import close_off, say, showing_compilation

log = logging.getLogger("nonstick.kernels")


def compile_one(kernels, seconds):
    """What the log says while a kernel is compiled, `kernels` being compiled already."""
    numbers = {"kernels": kernels, "seconds": seconds, "unfinished": 1}
    log.debug("compiling %s", "a", extra=numbers)
    log.debug("compiled %s", "a", extra={"kernels": kernels + 1, "seconds": seconds + 2.0, "unfinished": 0})


def test_a_line_before_and_a_line_after(capsys):
    with showing_compilation():
        log.info("compiling kernels for their first use")
        compile_one(5, 10.0)
        compile_one(6, 12.0)
    out, err = capsys.readouterr()
    assert not out
    assert err.splitlines()[0] == "compiling kernels for their first use"
    assert err.splitlines()[1].startswith("compiled 2 kernels in 4.0 s") and len(err.splitlines()) == 2


def test_the_closing_line_comes_before_other_output_and_once(capsys):
    with showing_compilation():
        compile_one(0, 0.0)
        say("a result")
        assert "compiled 1 kernel in 2.0 s" in capsys.readouterr().err
        close_off()
        compile_one(1, 2.0)
    assert "compiled 1 kernel in 2.0 s" in capsys.readouterr().err


def test_nothing_is_said_where_nothing_is_compiled(capsys):
    with showing_compilation():
        say("a result")
    assert capsys.readouterr() == ("a result\n", "")
    assert not log.handlers and log.level == logging.NOTSET


def test_a_terminal_counts(monkeypatch):
    shown = io.StringIO()
    console = Console(file=shown, force_terminal=True, width=80)
    monkeypatch.setattr(module, "screen", lambda: console)
    with showing_compilation():
        compile_one(0, 0.0)
        compile_one(1, 2.0)
    assert "compiling kernels, 1 done" in shown.getvalue() and "compiled 2 kernels" in shown.getvalue()


@pytest.mark.slow
def test_first_and_second_use_in_a_pipe(tmp_path):
    A = sp.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(9, 9)).tocsr()
    np.savez(
        tmp_path / "p.npz", A_data=A.data, A_indices=A.indices, A_indptr=A.indptr, b=np.linspace(-1.0, 1.0, 9)
    )  # fmt: skip
    command = [sys.executable, "-m", "nonstick", "solve", "p.npz", "--method", "psor", "--json", "-"]
    own = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "kept")}
    first, second = (
        subprocess.run(command, cwd=tmp_path, env=own, capture_output=True, text=True, check=True) for _ in range(2)
    )
    assert json.loads(first.stdout)["converged"] and json.loads(second.stdout)["converged"]
    begin, *_, end = first.stderr.splitlines()  # on a slow machine there are lines between
    assert begin.startswith("compiling kernels for their first use") and str(tmp_path / "kept") in begin
    assert end.startswith("compiled ") and " kernels in " in end
    assert not second.stderr


def test_one_long_kernel_goes_on_telling_in_a_pipe(monkeypatch):
    # a stream that is never emptied: capfd loses what a thread writes between its reading and its truncating
    shown = io.StringIO()
    console = Console(file=shown)
    monkeypatch.setattr(module, "BEAT", 0.01)
    monkeypatch.setattr(module, "screen", lambda: console)

    def wait_for(text, times=1):
        end = time.monotonic() + 60.0
        while shown.getvalue().count(text) < times:
            assert time.monotonic() < end, shown.getvalue()
            time.sleep(0.005)

    with showing_compilation():
        log.debug("compiling %s", "a", extra={"kernels": 0, "seconds": 0.0, "unfinished": 1})
        wait_for("compiling kernels, 0 done", 2)
        log.debug("compiled %s", "a", extra={"kernels": 1, "seconds": 2.0, "unfinished": 0})
        wait_for("compiling kernels, 1 done")
    assert shown.getvalue().splitlines()[-1].startswith("compiled 1 kernel in 2.0 s")


def test_kernels_that_could_not_be_kept_are_compiled_again(capsys):
    with showing_compilation():
        log.warning("compiled kernels cannot be kept", extra={"kept": False})
        compile_one(0, 0.0)
    assert capsys.readouterr().err.endswith("compiled 1 kernel in 2.0 s; the next run compiles them again\n")


def test_long_commands_say_in_a_pipe_how_far_they_are(monkeypatch, capsys):
    monkeypatch.setattr(module, "BEAT", 0.0)
    module.screen.cache_clear()
    with module.Bar("painting") as bar:
        for done in (1, 2, 3):
            bar.tick(done, 4)
    with module.Bar("nothing", shown=False) as bar:
        bar.tick(1, 4)
    module.screen.cache_clear()
    said = capsys.readouterr().err
    assert "painting: 50 %" in said and "nothing" not in said
