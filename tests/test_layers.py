"""Imports point one way, and the cheap things stay cheap."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import nonstick

ROOT = Path(nonstick.__file__).parent

# Lowest first; a module may import, at its top, from its own layer and from those below it.
LAYERS = (
    ("errors", "optional", "kernels"),
    ("grid",),
    ("operators",),
    ("problem", "validate"),
    ("inverse",),
    ("solvers",),
    ("registry",),
    ("api",),
    ("discretise",),
    ("cases",),
    ("scenes", "bodies", "io", "render"),
    ("sim",),
    ("bench",),
    ("cli", "__main__"),
)
#: still to be turned round
KNOWN = {"inverse.multigrid.face_cycle", "solvers.face_cg", "solvers.body_cg", "solvers.viscous"}


def layer(module: str) -> int:
    """The layer of `operators.stencil`; the longest name that fits decides."""
    fits = [(len(name), k) for k, names in enumerate(LAYERS) for name in names if f"{module}.".startswith(f"{name}.")]
    assert fits, f"nonstick.{module} belongs to no layer of tests/test_layers.py"
    return max(fits)[1]


def modules():
    for path in sorted(ROOT.rglob("*.py")):
        parts = list(path.relative_to(ROOT).with_suffix("").parts)
        is_package = parts[-1] == "__init__"
        name = ".".join(parts[:-1] if is_package else parts)
        if name:
            yield name, is_package, path


def imports(name: str, is_package: bool, path: Path):
    """Modules of nonstick imported when `path` is imported: not inside functions, not for type checking."""
    package = ["nonstick", *name.split(".")]
    if not is_package:
        package.pop()
    todo: list[ast.AST] = [ast.parse(path.read_text())]
    while todo:
        node = todo.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) or (
            isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)
        ):
            continue
        if isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            target = ".".join([*base, *([node.module] if node.module else [])])
            if target == "nonstick":
                yield from (alias.name for alias in node.names)
            elif target.startswith("nonstick."):
                inside = target.removeprefix("nonstick.")
                for alias in node.names:
                    deeper = ROOT.joinpath(*inside.split("."), f"{alias.name}.py")
                    yield f"{inside}.{alias.name}" if deeper.exists() else inside
        elif isinstance(node, ast.Import):
            yield from (a.name.removeprefix("nonstick.") for a in node.names if a.name.startswith("nonstick."))
        todo += list(ast.iter_child_nodes(node))


@pytest.mark.parametrize("name, is_package, path", list(modules()), ids=lambda value: str(value) if value else "")
def test_imports_point_one_way(name, is_package, path):
    if name in KNOWN:
        return
    for target in imports(name, is_package, path):
        assert layer(target) <= layer(name), f"nonstick.{name} imports nonstick.{target}, which lies above it"


HEAVY = ("numpy", "scipy", "numba", "matplotlib", "skimage")
LAZY = {
    "import": "import nonstick",
    "version": "import nonstick; nonstick.__version__",
    "help": "from nonstick.cli import app; app(['--help'], standalone_mode=False)",
    "help of a command": "from nonstick.cli import app; app(['solve', '--help'], standalone_mode=False)",
    "help of bench": "from nonstick.cli import app; app(['bench', '--help'], standalone_mode=False)",
}


@pytest.mark.parametrize("what", LAZY)
def test_nothing_heavy_is_imported_for(what):
    script = f"{LAZY[what]}\nimport sys\nprint('HEAVY', [m for m in {HEAVY!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip().endswith("HEAVY []")
