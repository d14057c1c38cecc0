"""Compile the kernels of common first runs and put them into the package, for the wheel that is built next.

    python tests/ship_kernels.py [SCENE …]

They are for this Python and numba (`nonstick.kernels.shipped`). Each scene runs as a user would run it, with few cells.
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from nonstick.kernels import shipped

ROOT = Path(__file__).parents[1]
#: 2D and 3D, thin and thick liquid, bodies: what README and tutorials run
SCENES = ("circle", "sphere", "honey", "viscous-drop", "body-drop")


def main(scenes: list[str]) -> None:
    if not sys.platform.startswith("linux"):
        sys.exit("kernels are shipped for Linux only")
    with tempfile.TemporaryDirectory() as folder:
        keep = {key: value for key, value in os.environ.items() if not key.startswith("NUMBA")}
        env = {**keep, **shipped.SETTINGS, "XDG_CACHE_HOME": folder}

        def run(*words: str) -> None:
            subprocess.run([sys.executable, *words], cwd=folder, env=env, check=True, stdout=subprocess.DEVNULL)

        code = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL)
        assert code, "README.md shows Python"
        run("-c", code[1])
        for dimension in "23":  # the solver at a size that has all kinds of levels, and the painter
            run("-m", "nonstick.sim.run.compile_ahead", dimension)
        for scene in scenes:
            print(f"compiling for {scene} ...", flush=True)
            out, cells = f"{folder}/{scene}", "domain.resolution=24"
            run("-m", "nonstick", "run", scene, "--frames", "2", "--out", out, "--set", cells)
        print(f"packing {shipped.archive_path()}")
        run("-c", "from nonstick.kernels import _cache; _cache.ship()")
        print(f"{shipped.archive_path().stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main(sys.argv[1:] or list(SCENES))
