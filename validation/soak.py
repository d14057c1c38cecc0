"""Kill runs at random moments, resume them, and compare with runs that nobody disturbed: `make soak`.

Each set-up is run once without a break. Then it is started again and killed (`kill -9`) after a random time, resumed
and killed again, until the number of kills is used up; the last time it may finish. All frames must have the same bytes
as those of the undisturbed run, and stats.csv the same steps. So must all files of other programs that a run writes
while it goes on (`output.export`).

    python validation/soak.py --kills 100 --seed 1
"""

from __future__ import annotations

import argparse
import csv
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path

#: formats of exported files; USD needs a package
FORMATS = '"vdb", "vtk", "ply", "obj", "glb"' + (', "usd"' if find_spec("pxr") else "")
#: name → (scene, keys): liquid in 2D and 3D, transfers, level set, walls, bodies, viscosity, sources, heat, export
SETUPS: dict[str, tuple[str, dict[str, str]]] = {
    "circle": ("circle", {"domain.resolution": "24"}),
    "sticky": ("circle", {"domain.resolution": "24", "walls.pressure": "none"}),
    "flip": ("circle", {"domain.resolution": "24", "particles.transfer": "flip"}),
    "levelset": ("circle", {"domain.resolution": "24", "surface.track": "grid"}),
    "pgs": ("circle", {"domain.resolution": "20", "solver.method": "pgs"}),
    "sphere": ("sphere", {"domain.resolution": "14"}),
    "sphere-levelset": ("sphere", {"domain.resolution": "12", "surface.track": "grid"}),
    "dam-break-sphere": ("dam-break-sphere", {"domain.resolution": "12"}),
    "moving-sphere": ("moving-sphere", {"domain.resolution": "12"}),
    "maze": ("maze", {"domain.resolution": "24"}),
    "slosh": ("slosh", {"domain.resolution": "24"}),
    "rotated-box": ("rotated-box", {"domain.resolution": "12"}),
    "honey": ("honey", {"domain.resolution": "14"}),
    "bodies": ("{bodies}", {"domain.resolution": "20"}),
    "sources": ("{sources}", {"domain.resolution": "20"}),
    "heat": ("heat", {"domain.resolution": "24"}),
    "export": ("sphere", {"domain.resolution": "12", "output.export": f"[{FORMATS}]"}),
}
#: scenes that are written for this
WRITTEN = {
    "{bodies}": """
[domain]
size = [1.0, 1.0]
[[liquid]]
shape = {type = "box", low = [0.0, 0.0], high = [1.0, 0.4]}
[[bodies]]
shape = {type = "ball", centre = [0.3, 0.7], radius = 0.12}
density = 400.0
[[bodies]]
shape = {type = "box", low = [0.6, 0.5], high = [0.9, 0.7]}
density = 2000.0
""",
    "{sources}": """
[domain]
size = [1.0, 1.0]
[physics]
viscosity = 2.0
[[liquid]]
shape = {type = "box", low = [0.0, 0.0], high = [1.0, 0.2]}
viscosity = 20.0
[[inflow]]
shape = {type = "box", low = [0.1, 0.7], high = [0.2, 0.8]}
velocity = [1.5, 0.0]
[[outflow]]
shape = {type = "box", low = [0.8, 0.0], high = [1.0, 0.1]}
""",
}


def command(*words: str) -> list[str]:
    return [sys.executable, "-m", "nonstick", *words]


def start(folder: Path, name: str, frames: int, out: Path) -> list[str]:
    """The command that begins the run of a set-up."""
    scene, keys = SETUPS[name]
    if scene in WRITTEN:
        file = folder / f"{name}.toml"
        file.write_text(WRITTEN[scene], encoding="utf-8")
        scene = str(file)
    sets = [word for key, value in keys.items() for word in ("--set", f"{key}={value}")]
    return command("run", scene, "-n", str(frames), "--no-movie", "--out", str(out), *sets)


def content(run: Path) -> tuple[dict[str, bytes], list[str]]:
    """The bytes of all frames and exported files, and the steps of stats.csv."""
    files = [*(run / "frames").glob("*.npz"), *(f for f in (run / "export").rglob("*") if f.is_file())]
    frames = {str(f.relative_to(run)): f.read_bytes() for f in sorted(files)}
    with open(run / "stats.csv", newline="", encoding="utf-8") as stream:
        return frames, [row["step"] for row in csv.DictReader(stream)]


def quiet(words: list[str]) -> float:
    """Run a command to its end; how long it took."""
    began = time.monotonic()
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(words)} failed: {done.stderr.strip()}")
    return time.monotonic() - began


def disturb(first: list[str], again: list[str], out: Path, kills: int, longest: float, rng: random.Random) -> int:
    """Begin a run and kill it again and again; says how many kills met a living process."""
    met = 0
    for _ in range(kills):
        process = subprocess.Popen(
            again if (out / "meta.json").exists() else first, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        try:
            process.wait(rng.uniform(0.0, longest))
        except subprocess.TimeoutExpired:
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
            met += 1
    quiet(again if (out / "meta.json").exists() else first)
    return met


def soak(names: list[str], kills: int, frames: int, seed: int, folder: Path) -> int:
    """All set-ups, the kills shared among them; returns how many of them met a living process."""
    rng = random.Random(seed)
    share, met = -(-kills // len(names)), 0
    for name in names:
        whole, broken = folder / f"{name}-whole", folder / f"{name}-broken"
        quiet(start(folder, name, frames, whole))
        shutil.rmtree(whole)  # kernels are compiled now; the second time counts
        longest = quiet(start(folder, name, frames, whole))
        here = disturb(
            start(folder, name, frames, broken),
            command("resume", str(broken), "--no-movie"),
            broken,
            share,
            longest,
            rng,
        )
        met += here
        same = content(whole) == content(broken)
        print(f"{name}: {here} kills, {'the same bytes' if same else 'OTHER BYTES'}", flush=True)
        if not same:
            raise SystemExit(f"{name}: a run that was killed and resumed is not the undisturbed one; see {folder}")
    return met


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="set-ups; default: all")
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--frames", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    names = given.names or list(SETUPS)
    unknown = [name for name in names if name not in SETUPS]
    if unknown:
        parser.error(f"there is no set-up {unknown[0]!r}; known are {', '.join(SETUPS)}")
    folder = Path(tempfile.mkdtemp(prefix="nonstick-soak-"))
    met = soak(names, given.kills, given.frames, given.seed, folder)
    shutil.rmtree(folder)
    print(f"{met} kills over {len(names)} set-ups, all runs the same bit for bit")


if __name__ == "__main__":
    main()
