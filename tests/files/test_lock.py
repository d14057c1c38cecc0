"""One writer at a time."""

import json
import os
import subprocess
import sys
import time

import pytest

from nonstick import NonstickError
from nonstick.files.lock import Lock

HOLD = """
import sys, time
from pathlib import Path
from nonstick.files.lock import Lock
with Lock(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""


@pytest.fixture
def holder(tmp_path):
    process = subprocess.Popen([sys.executable, "-c", HOLD, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "held\n"
    yield process
    process.kill()
    process.wait()


def test_the_second_is_refused_and_told_who_holds_it(tmp_path, holder):
    with pytest.raises(NonstickError, match=f"process {holder.pid} on .* is writing in"), Lock(tmp_path):
        pass
    assert json.loads((tmp_path / "lock").read_text())["pid"] == holder.pid


def test_a_dead_owner_is_taken_over(tmp_path, holder):
    holder.kill()
    holder.wait()
    assert (tmp_path / "lock").exists()
    with Lock(tmp_path) as lock:
        assert f"process {holder.pid} on" in lock.taken_over and "has ended" in lock.taken_over
    assert not (tmp_path / "lock").exists()


def test_a_lock_file_with_anything_in_it(tmp_path):
    for content in (b"", b"\xff\x00", b"[]", b'{"pid": 1}', b'{"pid": 1, "host": "\x1b[31m", "since": "then"}'):
        (tmp_path / "lock").write_bytes(content)
        with Lock(tmp_path):
            pass
    (tmp_path / "lock").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(NonstickError, match="is a link"), Lock(tmp_path):
        pass
    assert not (tmp_path / "elsewhere").exists()


def test_only_one_of_many_gets_it(tmp_path):
    script = HOLD.replace("time.sleep(60)", "time.sleep(1.5)")
    start = time.time()
    many = [
        subprocess.Popen([sys.executable, "-c", script, str(tmp_path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for _ in range(4)
    ]
    codes = [p.wait() for p in many]
    for p in many:
        p.stdout.close()
        p.stderr.close()
    assert codes.count(0) >= 1 and (codes.count(0) == 1 or time.time() - start > 2.5)
    assert os.listdir(tmp_path) == []
