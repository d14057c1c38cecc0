"""Imports point one way, and the cheap things stay cheap."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import nonstick

ROOT = Path(nonstick.__file__).parent
REPRO = Path(__file__).parent / "repro"

#: Lowest first, one package a line. A file may import from its own package and from those above it in this list;
#: imports inside functions and for type checkers count.
LAYERS = (
    "_lazy",
    "errors",
    "kernels",
    "core",
    "grid",
    "parallel",
    "operators",
    "problem",
    "inverse",
    "solvers",
    "arrays",
    "registry",
    "compositions",
    "api",
    "solver",
    "forms",
    "torch",
    "jax",
    "integrations",
    "discretise",
    "cases",
    "mpi",
    "bodies",
    "scenes",
    "files",
    "pictures",
    "sim",
    "bench",
    "sweeps",
    "validation",
)
#: For quick starts these load what they need when it is asked for, whatever it is: the public names of the package, the
#: command line, and the registry, which loads `compositions` by name.
LAZY_BY_DESIGN = ("", "__main__", "cli")


def modules():
    for path in sorted(ROOT.rglob("*.py")):
        parts = list(path.relative_to(ROOT).with_suffix("").parts)
        package = parts[:-1]
        if parts[-1] == "__init__":
            parts = package
        if (parts or [""])[0] not in LAZY_BY_DESIGN:
            yield ".".join(parts), package, path


def imports(package: list[str], path: Path):
    """Packages of nonstick that a file imports from, anywhere in it, and the line."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names: list[str] = []
        if isinstance(node, ast.ImportFrom):
            whole = ["nonstick", *package]
            base = whole[: len(whole) - node.level + 1] if node.level else []
            target = [*base, *(node.module.split(".") if node.module else [])]
            names = [alias.name for alias in node.names] if target == ["nonstick"] else [".".join(target[1:2])]
            names = names if target[:1] == ["nonstick"] else []
        elif isinstance(node, ast.Import):
            names = [a.name.split(".")[1] for a in node.names if a.name.startswith("nonstick.")]
        for name in names:
            if (ROOT / name).is_dir() or (ROOT / f"{name}.py").is_file():
                yield name, node.lineno


@pytest.mark.parametrize(
    "name, package, path", list(modules()), ids=lambda value: value if isinstance(value, str) else ""
)
def test_imports_point_one_way(name, package, path):
    own = name.split(".")[0]
    assert own in LAYERS, f"nonstick.{own} has no place in LAYERS"
    for target, line in imports(package, path):
        assert target in LAYERS, f"{path.name}:{line} imports nonstick.{target}, which has no place in LAYERS"
        assert LAYERS.index(target) <= LAYERS.index(own), f"nonstick.{name}:{line} imports nonstick.{target}"


HEAVY = ("numpy", "scipy", "numba", "matplotlib", "PIL", "concurrent.futures", "multiprocessing")
LAZY = {
    "import": "import nonstick",
    "version": "import nonstick; nonstick.__version__",
    "help": "from nonstick.cli import app; app(['--help'], standalone_mode=False)",
    "help of a command": "from nonstick.cli import app; app(['solve', '--help'], standalone_mode=False)",
    "help of export": "from nonstick.cli import app; app(['export', '--help'], standalone_mode=False)",
    "help of bench": "from nonstick.cli import app; app(['bench', '--help'], standalone_mode=False)",
}


@pytest.mark.parametrize("what", LAZY)
def test_nothing_heavy_is_imported_for(what):
    script = f"{LAZY[what]}\nimport sys\nprint('HEAVY', [m for m in {HEAVY!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip().endswith("HEAVY []")


ANSWERED = {
    "problem": ("solve", "p.npz", b"no archive"),
    "scene": ("check", "s.toml", b"[domain]\nresolution = -1\n"),
    "cells": ("solve", "p.npz", (REPRO / "cellsbig.npz").read_bytes()),
    "speed": ("check", "s.toml", (REPRO / "fast.toml").read_bytes()),
}


@pytest.mark.parametrize("what", ANSWERED)
def test_a_damaged_file_is_answered_before_numba_is_loaded(what, tmp_path):
    command, name, content = ANSWERED[what]
    (tmp_path / name).write_bytes(content)
    script = (
        f"import sys\nfrom nonstick.cli import main\ntry:\n    main(['{command}', '{name}'])\n"
        "except SystemExit as leave:\n    print(leave.code, 'numba' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stdout.split() == ["2", "False"] and done.stderr.count("\n") == 1, done


#: whose loops other packages call
SHARED_LOOPS = ("kernels", "grid", "discretise")


def test_loops_stay_where_the_architecture_says():
    """Files of loops are imported by their own package, but for those of a few; loops of other files by nobody."""
    alone = {}
    for path in sorted(ROOT.rglob("*.py")):
        if not path.name.startswith("_"):
            tree = ast.parse(path.read_text(encoding="utf-8"))
            loops = {
                node.name
                for node in tree.body
                if isinstance(node, ast.FunctionDef)
                and {"serial", "parallel", "merged"} & {ast.unparse(d) for d in node.decorator_list}
            }
            alone |= {".".join(path.relative_to(ROOT).with_suffix("").parts): loops} if loops else {}
    for name, package, path in modules():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not (isinstance(node, ast.ImportFrom) and node.level):
                continue
            target = [*package[: len(package) - node.level + 1], *(node.module or "").split(".")]
            if target[-1].startswith("_") and len(target) > 1:
                assert target[0] == package[0] or target[0] in SHARED_LOOPS, f"nonstick.{name}:{node.lineno}"
            assert not alone.get(".".join(target), set()) & {a.name for a in node.names}, f"nonstick.{name}"


def test_few_files_import_what_ranks_need():
    found = set()
    for path in ROOT.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) and not node.level else []
            if any(name.split(".")[0] in ("mpi4py", "petsc4py") for name in names):
                found.add(path.relative_to(ROOT).as_posix())
    assert found == {"parallel/ranks.py", "mpi/petsc_driver.py"}
