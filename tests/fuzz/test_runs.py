"""Damaged run directories: bytes, arrays, tables and notes changed at random.

Each is then summed up, painted, its probes are read, or it is exported or branched, and at last it is resumed.
"""

import io
import json
import os
import random
import shutil
import socket
import tempfile
from collections import Counter
from contextlib import redirect_stdout, suppress
from pathlib import Path

import numpy as np
import pytest
from bases import BASES, write_meshes
from bounds import answered, none_broke, seeds

from nonstick import Scene, export, read_probes
from nonstick.cli import scene as commands
from nonstick.files.rundir import RunDirectory
from nonstick.sim.kinds import kind_of
from nonstick.sim.run.branch import branch
from nonstick.sim.run.loop import resume, run

SPOILT = [np.nan, np.inf, -np.inf, 1e300, -1e300, 1e9, -1e9, -1.0, 0.0, 0.5]


def socket_at(path):
    with suppress(OSError), socket.socket(socket.AF_UNIX) as there:  # a name may be too long for one
        there.bind(str(path))


#: what a stranger may put in place of a file or folder; what is written to the folder `away` is found at the end
AWAY = Path(tempfile.mkdtemp(prefix="nonstick-away-"))
SPECIAL = [
    lambda path: path.symlink_to("/nowhere"),
    lambda path: path.symlink_to(AWAY),
    lambda path: path.symlink_to(AWAY / "file"),
    lambda path: path.symlink_to("/dev/zero"),
    lambda path: path.symlink_to(path.name),
    *((os.mkfifo, socket_at) if hasattr(os, "mkfifo") else ()),
]


#: bases whose runs are also there as branches
BRANCHED = (3, 7, 9)


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    """Finished runs of every kind of scene, and branches of some."""
    folder = tmp_path_factory.mktemp("sound")
    write_meshes(folder)
    for number, base in enumerate(BASES):
        small = {} if base.get("kind") == "heat" else {"camera": {"width": 64, "height": 64}}
        run(Scene({**base, **small, "time": {"frames": 2}}, "the scene", folder), folder / str(number))
    for number in BRANCHED:
        branch(folder / str(number), folder / f"{number}-branch", 1, {"physics.density": 900.0})
    return folder


def spoil_bytes(rng, file):
    raw = bytearray(file.read_bytes())
    for _ in range(rng.choice([1, 1, 3, 20])):
        if not raw:
            break
        where = rng.randrange(len(raw))
        how = rng.randrange(4)
        if how == 0:
            del raw[where:]
        elif how == 1:
            raw[where : where + rng.randrange(1, 9)] = bytes(rng.randrange(256) for _ in range(rng.randrange(9)))
        else:
            raw[where] = rng.randrange(256)
    file.write_bytes(bytes(raw))


def spoil_arrays(rng, file):
    try:
        with np.load(file) as found:
            arrays = {name: found[name] for name in found.files}
    except Exception:  # damaged before
        arrays = {}
    if not arrays:
        spoil_bytes(rng, file)
        return
    name = rng.choice(sorted(arrays))
    a = arrays[name]
    how = rng.randrange(9)
    if how == 0:
        del arrays[name]
    elif how == 1:
        arrays[name] = a.astype(rng.choice([np.float32, np.float64, np.int8, np.int64, ">f8", "U3", complex]))
    elif how == 2:
        arrays[name] = a[..., :-1] if a.ndim else a.reshape(1)
    elif how == 3:
        arrays[name] = np.concatenate([a, a]) if a.ndim else np.array([])
    elif how == 4:
        arrays[name] = np.asfortranarray(a.T if rng.randrange(2) else a)
    elif how == 5:
        arrays["more"] = a
    elif a.size:
        flat = a.astype(float).ravel()
        flat[rng.randrange(flat.size) if rng.randrange(3) else slice(None)] = rng.choice(SPOILT)
        with np.errstate(invalid="ignore", over="ignore"):
            arrays[name] = flat.reshape(a.shape).astype(a.dtype)
    np.savez(file, **arrays)


def spoil_json(rng, file):
    try:
        data = json.loads(file.read_text(errors="replace"))
    except ValueError:  # damaged before
        data = None
    if isinstance(data, dict):
        data[rng.choice(list(data))] = rng.choice([None, 3, -1, "x\x1b[31m", [], {}, [1, "a"], 1e400, True, "../../x"])
    file.write_text(json.dumps(rng.choice([data, [data], data])))


def spoil_lines(rng, file):
    lines = file.read_text(errors="replace").splitlines() or [""]
    where = rng.randrange(len(lines))
    lines[where] = rng.choice(
        ["", "x", "1,2,3", "{}", "[]", "{'a'", '{"kind": 3, "message": []}', lines[where][: len(lines[where]) // 2],
         lines[where].replace("1", "nan"), lines[where].replace(",", ",,"), '"' * 50, "1," * 5000, lines[0]]
    )  # fmt: skip
    file.write_text("\n".join(lines) + rng.choice(["\n", ""]))


def spoil(rng, path):
    """Damage one file of a run."""
    files = sorted(f for f in path.rglob("*") if f.is_file())
    arrays = [f for f in files if f.suffix == ".npz"]
    how = rng.randrange(10)
    if how < 4 and arrays:
        spoil_arrays(rng, rng.choice(arrays))
        return
    file = rng.choice(files)
    if how == 4:
        file.unlink()
    elif how == 5 and file.suffix == ".json":
        spoil_json(rng, file)
    elif how == 6 and file.suffix in (".csv", ".jsonl"):
        spoil_lines(rng, file)
    elif how == 7:
        file.unlink()
        rng.choice([Path.mkdir, lambda f: f.write_bytes(b""), *SPECIAL])(file)
    elif how == 8:
        folder = rng.choice(
            [f for f in [*path.rglob("*"), path / "export", path / "bodies"] if f.is_dir() or not f.exists()]
        )
        shutil.rmtree(folder, ignore_errors=True)
        folder.unlink(missing_ok=True)  # a link that leads nowhere, of a change before this one
        rng.choice([*SPECIAL, *SPECIAL, lambda f: f.write_bytes(b"")])(folder)
    else:
        spoil_bytes(rng, file)


def look(rng, path):
    """One of the things that read a run besides `info` and pictures."""
    what = rng.choice(["probes", "export", "branch", "json"] * 20 + ["plot"])
    if what == "probes":
        table = read_probes(path)
        assert all(values.shape == table.time.shape for values in table.values())
    elif what == "export":
        export(path, rng.choice(["vtk", "ply", "obj", "usd", "vdb", "glb"]), overwrite=bool(rng.randrange(2)))
    elif what == "branch":
        branch(path, path.with_name(f"{path.name}-new"), rng.choice([None, 1, 2]), {"time.frames": 3})
    else:
        commands.info(path, what == "json", what == "plot")


@pytest.mark.filterwarnings("ignore")
def test_damaged_runs(sound, tmp_path):
    whole = sorted(p for p in sound.iterdir() if p.is_dir())
    tried = Counter()
    for seed in seeds(20):
        rng = random.Random(seed)
        path = tmp_path / str(seed)
        shutil.copytree(rng.choice(whole), path)
        for _ in range(rng.choice([1, 1, 2, 4])):
            spoil(rng, path)
        tried["runs"] += 1
        with answered(seed, "info"), redirect_stdout(io.StringIO()) as out:
            commands.info(path, False, False)
            assert out.getvalue()
            tried["summed up"] += 1
        with answered(seed, "paint"):
            kind = kind_of(RunDirectory.open(path).scene())
            for image, _ in zip(kind.film(path).images(), range(3)):
                assert image.dtype == np.uint8
            tried["painted"] += 1
        with answered(seed, "look"), redirect_stdout(io.StringIO()):
            look(rng, path)
            tried["read"] += 1
        with answered(seed, "resume"):
            resume(path, frames=3, discard=bool(rng.randrange(2)))
            assert not np.isnan(RunDirectory.open(path).read_frame(3).get("position", np.zeros(1))).any()
            tried["resumed"] += 1
        assert not any(AWAY.iterdir()), f"mutant {seed} wrote outside: {list(AWAY.iterdir())}"
        shutil.rmtree(path, ignore_errors=True)
        shutil.rmtree(path.with_name(f"{path.name}-new"), ignore_errors=True)
    print(dict(tried))
    none_broke()
