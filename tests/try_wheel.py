"""Try a wheel as a new user would: a clean environment, the Python of the README, a first run, a picture.

    python tests/try_wheel.py [WHEEL] [EXTRA …]

Without a wheel it takes the newest in dist/. Prints seconds and sizes; ends with an error if a step fails.
"""

import os
import re
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path

ROOT = Path(__file__).parents[1]


def main(wheel: Path, extras: list[str]) -> None:
    code = re.search(r"```python\n(.*?)```\n+```text\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL)
    assert code, "README.md shows Python and what it prints"
    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder)
        venv.create(here / "venv", with_pip=True)
        programs = here / "venv" / ("Scripts" if os.name == "nt" else "bin")
        python = str(programs / "python")
        # a home of its own: nothing is compiled yet, and nothing of the user's is found
        env = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "NUMBA", "NONSTICK"))}
        env |= {"HOME": folder, "XDG_CACHE_HOME": str(here / "cache"), "LOCALAPPDATA": str(here / "cache")}

        def step(what: str, *words: str) -> str:
            began = time.perf_counter()
            done = subprocess.run(words, cwd=here, env=env, capture_output=True, text=True, encoding="utf-8")
            print(f"{what:<28} {time.perf_counter() - began:6.1f} s", flush=True)
            if done.returncode:
                sys.exit(f"{' '.join(words)}\n{done.stdout}{done.stderr}")
            return done.stdout

        print(f"Python {sys.version.split()[0]}, {wheel.name}, {wheel.stat().st_size / 1e6:.2f} MB")
        names = ",".join(["pictures", *extras])
        step("install", python, "-m", "pip", "install", "-q", "--disable-pip-version-check", f"{wheel}[{names}]")
        shown = step("Python of the README", python, "-c", code[1])
        assert shown.split() == code[2].split(), shown
        nonstick = str(programs / "nonstick")
        assert step("nonstick --version", nonstick, "--version").split()[0] == "nonstick"
        step("nonstick run circle", nonstick, "run", "circle", "--frames", "10", "--no-movie", "--out", "splash")
        step("nonstick render", nonstick, "render", "splash", "--out", "splash.png")
        assert (here / "splash.png").stat().st_size > 1000
        size = sum(file.stat().st_size for file in (here / "venv").rglob("*") if file.is_file())
        ours = sum(file.stat().st_size for file in (here / "venv").rglob("nonstick/**/*") if file.is_file())
        print(f"environment {size / 1e6:.0f} MB, of which nonstick {ours / 1e6:.1f} MB")


if __name__ == "__main__":
    named = [Path(word) for word in sys.argv[1:] if word.endswith(".whl")]
    built = named or sorted((ROOT / "dist").glob("*.whl"))
    if not built:
        sys.exit("there is no wheel in dist/: run python -m build first")
    main(built[-1].resolve(), [word for word in sys.argv[1:] if not word.endswith(".whl")])
