"""Files of strangers: nothing but regular files is opened, nothing is waited for, no link in a run leads away."""

import os
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from nonstick import NonstickError, Scene, export
from nonstick.cli import main
from nonstick.core import guarded
from nonstick.files.atomic import replacing
from nonstick.files.rundir import RunDirectory
from nonstick.sim.run.loop import resume, run

if not hasattr(os, "mkfifo"):
    pytest.skip("pipes, sockets and alarms of POSIX", allow_module_level=True)


@pytest.fixture(autouse=True)
def alarm():
    """Whoever waits for a FIFO waits for ever."""

    def late(*_):
        raise AssertionError("it has waited for 20 seconds")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(20)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def at_a_socket(path):
    with socket.socket(socket.AF_UNIX) as there:
        here = os.getcwd()
        os.chdir(path.parent)  # their paths must be short
        there.bind(path.name)
        os.chdir(here)


SPECIAL = {
    "fifo": os.mkfifo,
    "socket": at_a_socket,
    "device": lambda path: path.symlink_to("/dev/zero"),
}


@pytest.mark.parametrize("kind", SPECIAL)
def test_only_regular_files_are_opened(tmp_path, kind):
    path = tmp_path / "x"
    SPECIAL[kind](path)
    for use in (guarded.reading, guarded.read_text, guarded.appending):
        with pytest.raises(NonstickError, match="is a pipe, a socket or a device"):
            use(path)


def test_links_are_followed_outside_of_guarded_folders_only(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "x").write_text("é", encoding="utf-8")
    (tmp_path / "link").symlink_to("real")
    (tmp_path / "file").symlink_to("real/x")
    assert guarded.read_text(tmp_path / "link" / "x") == guarded.read_text(tmp_path / "file") == "é"
    guarded.guard(tmp_path)
    for path in (tmp_path / "link" / "x", tmp_path / "file"):
        for use in (guarded.read_text, guarded.appending):
            with pytest.raises(NonstickError, match="is a link to another place"):
                use(path)
    for use in (guarded.make_folder, guarded.remove):
        with pytest.raises(NonstickError, match="is a link to another place"):
            use(tmp_path / "link" / "y")
    with pytest.raises(NonstickError, match="is a link"), replacing(tmp_path / "link" / "y") as partial:
        partial.write_text("x")
    assert [p.name for p in (tmp_path / "real").iterdir()] == ["x"]
    guarded.remove(tmp_path / "file")  # the link itself
    assert not (tmp_path / "file").is_symlink() and (tmp_path / "real" / "x").exists()


def test_the_folder_of_a_run_may_itself_be_reached_by_a_link(tmp_path):
    (tmp_path / "disk").mkdir()
    (tmp_path / "run").symlink_to("disk")
    guarded.guard(tmp_path / "run")
    with replacing(tmp_path / "run" / "a" / ".." / "x", durable=True) as partial:
        partial.write_text("x")
    assert (tmp_path / "disk" / "x").read_text() == "x"


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="no /proc here")
def test_a_link_that_comes_later_leads_nowhere(tmp_path):
    """Somebody puts a link where the folder was, while the file is written."""
    guarded.guard(tmp_path / "run")
    guarded.make_folder(tmp_path / "run" / "export")
    (tmp_path / "away").mkdir()
    with replacing(tmp_path / "run" / "export" / "x") as partial:
        (tmp_path / "run" / "export").rename(tmp_path / "moved")
        (tmp_path / "run" / "export").symlink_to(tmp_path / "away")
        partial.write_text("x")
    assert not any((tmp_path / "away").iterdir()) and (tmp_path / "moved" / "x").read_text() == "x"


def test_a_file_that_is_too_long_is_not_read(tmp_path):
    with open(tmp_path / "x", "wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(NonstickError, match="has 1048576 MB"):
        guarded.read_bytes(tmp_path / "x")


# -- run directories ----------------------------------------------------------------------------------

FORMATS = ("ply", "vtk")
BALL = {"type": "ball", "centre": [0.7, 0.6, 0.5], "radius": 0.2}


def scene():
    """A ball falls into water; a probe measures; files are exported as the run goes on."""
    return Scene(
        {
            "name": "toy",
            "domain": {"size": [1.0, 1.0, 1.0], "resolution": 8},
            "time": {"frames": 2, "fps": 20},
            "liquid": [{"shape": {"type": "box", "low": [0, 0, 0], "high": [0.5, 0.6, 1.0]}}],
            "bodies": [{"name": "ball", "density": 400, "shape": BALL}],
            "probe": [{"name": "floor", "type": "pressure", "on": "bottom"}],
            "camera": {"width": 64, "height": 64},
            "output": {"export": FORMATS},
        }
    )


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    pytest.importorskip("imageio_ffmpeg")
    path = tmp_path_factory.mktemp("run") / "run"
    run(scene(), path)
    command("render", path)
    return path


def command(*words):
    """A command; whatever it answers, it is an exit code."""
    with pytest.raises(SystemExit) as end:
        main(list(map(str, words)))
    return end.value.code


def use_everything(path):
    """All that reads or writes a run."""
    command("info", path)
    command("render", path, "--out", path / "frame.png", "--frame", 1)
    command("render", path, "--out", path / "pictures", "--frames", "0:1")
    command("export", path, "--to", "ply", "--to", "vtk", "--overwrite")
    command("resume", path, "--from-frame", 1, "--discard", "--no-movie")


def content(folder):
    return {p.relative_to(folder): p.read_bytes() if p.is_file() else None for p in sorted(folder.rglob("*"))}


def entries():
    """Everything that lies in such a run, by its path; folders first. A test compares this with a run."""
    return [
        "frames", "checkpoints", "bodies", "export", *(f"export/{name}" for name in FORMATS), "pictures",
        "scene.toml", "meta.json", "log.jsonl", "stats.csv", "bodies.csv", "probes.csv", "bodies.json", "lock",
        "bodies/ball.obj", "frames/000001.npz", "checkpoints/000002.npz", "export/ply/toy_000001.ply",
        "export/vtk/surface.pvd", "preview.mp4", "preview.png", "frame.png",
    ]  # fmt: skip


def test_the_list_of_entries_is_whole(whole):
    later = {"pictures", "frame.png", "lock"}
    top = {p.name for p in whole.iterdir()} | later
    assert top == {name.partition("/")[0] for name in entries()}
    assert all((whole / name).exists() for name in entries() if name not in later)


@pytest.mark.slow
@pytest.mark.parametrize("name", entries())
def test_nothing_is_written_through_a_link(whole, tmp_path, name):
    signal.alarm(120)
    path, away = tmp_path / "run", tmp_path / "away"
    shutil.copytree(whole, path)
    if (path / name).exists():
        shutil.move(path / name, away)
    else:
        away.mkdir()
    if away.is_dir():
        (away / "toy_000099.ply").write_bytes(b"precious")
        (away / "000099.npz").write_bytes(b"precious")
    before = content(away) or away.read_bytes()
    (path / name).symlink_to(away)
    use_everything(path)
    assert (content(away) or away.read_bytes()) == before


@pytest.mark.slow
@pytest.mark.parametrize("kind, name", [("fifo", n) for n in entries()] + [(k, "stats.csv") for k in SPECIAL])
def test_nothing_waits_for_what_is_no_file(whole, tmp_path, name, kind, capsys):
    signal.alarm(120)
    path = tmp_path / "run"
    shutil.copytree(whole, path)
    if (path / name).is_dir():
        shutil.rmtree(path / name)
    (path / name).unlink(missing_ok=True)
    SPECIAL[kind](path / name)
    use_everything(path)
    assert "Traceback" not in capsys.readouterr().err


#: counts what Python's own functions write by a path inside of a run, not by the descriptor of its folder
WATCH = """
import os, sys, traceback
from pathlib import Path

root, seen = os.path.abspath(sys.argv[1]), set()
CHANGES = {"os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.link", "os.symlink", "os.truncate", "os.chmod"}

def hook(event, arguments):
    if event == "open":
        path, mode, flags = arguments
        paths = [path] if isinstance(path, (str, bytes)) and flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT) else []
    else:
        paths = [p for p in arguments if isinstance(p, (str, bytes, os.PathLike))] if event in CHANGES else []
    for path in map(os.fsdecode, paths):
        inside = os.path.isabs(path) or os.sep in path
        if inside and os.path.abspath(path).startswith(root + os.sep):
            seen.add(f"{event} {path}\\n" + "".join(traceback.format_stack(limit=6)))

sys.addaudithook(hook)
sys.path[:0] = sys.argv[2].split(":")
from nonstick.sim.run.branch import branch
from test_guarded import command, run, scene, use_everything
path = Path(root) / "run"
path.parent.mkdir()
root = str(path)
run(scene(), path)
use_everything(path)
command("render", path)
command("export", path, *(word for name in ("obj", "glb", "vdb", "usd") for word in ("--to", name)))
root = str(path.with_name("branch"))
branch(path, root, 1, {"time.frames": 2})
for one in sorted(seen):
    print("BY PATH", one)
"""


@pytest.mark.slow
def test_every_writer_goes_through_the_guard(whole, tmp_path):
    """All that writes in a run is run, and nothing inside it is opened, made, renamed or deleted by its path."""
    signal.alarm(200)
    words = [sys.executable, "-c", WATCH, tmp_path / "runs", f"{Path(__file__).parent}"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=180)
    assert done.returncode == 0, done.stderr[-2000:]
    assert "BY PATH" not in done.stdout, done.stdout
    assert (tmp_path / "runs" / "branch" / "meta.json").exists()


def test_a_run_that_was_opened_is_guarded(whole, tmp_path):
    path = shutil.copytree(whole, tmp_path / "run")
    shutil.rmtree(path / "export")
    (tmp_path / "away").mkdir()
    (path / "export").symlink_to(tmp_path / "away")
    with pytest.raises(NonstickError, match="export is a link to another place"):
        export(path, "ply")
    told = []
    resume(path, from_frame=1, warn=told.append)
    assert any("export stopped" in sentence and "is a link" in sentence for sentence in told)
    assert not any((tmp_path / "away").iterdir())
    assert RunDirectory.open(path).frames() == [0, 1, 2]
