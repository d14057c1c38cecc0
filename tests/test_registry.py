"""Names of methods: built-in ones and their compositions agree, and methods of users work like them."""

import json
import subprocess
import sys

import numpy as np
import pytest

import nonstick
from nonstick import compositions, registry

PLUGIN = '''
from dataclasses import dataclass

import nonstick
from nonstick.solvers import Method


@dataclass(frozen=True)
class ProjectedGradient(Method):
    """Projected gradient steps of the length the largest row allows."""

    def solve(self, problem, start, monitor):
        x, step = start.x, 0.5 / problem.A.diagonal.max()
        while not monitor.check(x) and monitor.iterations < monitor.limit(100_000):
            problem.box.project(x - step * problem.gradient(x), out=x)
            monitor.iterations += 1


@nonstick.register("my-gradient", "projected gradient of fixed step")
def build():
    return ProjectedGradient()
'''


@pytest.fixture(autouse=True)
def same_names_afterwards(monkeypatch):
    monkeypatch.setattr(registry, "_METHODS", dict(registry._METHODS))


@pytest.fixture
def plugin(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(PLUGIN)
    return path


def test_every_name_is_one_expression():
    built_in = {name for name, entry in registry.entries().items() if entry.build is None}
    assert built_in == set(compositions.METHODS)


@pytest.mark.parametrize("name", compositions.METHODS)
def test_kinds_say_what_a_method_solves(name):
    entry = registry.entries()[name]
    assert entry.kind in registry.KINDS
    assert name.startswith("visc-") == (entry.kind == "viscosity")
    assert name.startswith("stokes-") == (entry.kind == "stokes")
    if entry.kind != "viscosity":
        assert registry.get(name).linear == (entry.kind == "linear")


def test_methods_of_one_kind():
    assert set(nonstick.methods("linear")) < set(nonstick.methods())
    assert "no-lcp" in nonstick.methods("linear") and "auto" not in nonstick.methods("linear")


def test_a_plugin_adds_a_method(plugin):
    nonstick.load_plugin(plugin)
    solution = nonstick.solve([[2.0, -1.0], [-1.0, 2.0]], [1.0, -3.0], method="my-gradient")
    assert solution.converged and solution.method == "my-gradient"
    np.testing.assert_allclose(solution.x, [0.5, 0.0], atol=1e-5)
    assert nonstick.methods()["my-gradient"] == "projected gradient of fixed step"


@pytest.mark.parametrize("where", ["first", "last"])
def test_a_plugin_works_from_the_command_line(plugin, tmp_path, where):
    np.savez(tmp_path / "p.npz", A_data=[2.0, 3.0], A_indices=[0, 1], A_indptr=[0, 1, 2], b=[1.0, -1.0])
    words = ["solve", str(tmp_path / "p.npz"), "--method", "my-gradient", "--json", str(tmp_path / "out.json")]
    option = ["--plugin", str(plugin)]
    words = [*option, *words] if where == "first" else [*words, *option]
    subprocess.run([sys.executable, "-m", "nonstick", *words], check=True, capture_output=True, cwd=tmp_path)
    assert json.loads((tmp_path / "out.json").read_text())["method"] == "my-gradient"


def test_installed_packages_register_their_methods(monkeypatch):
    class Point:
        name = "mine"

        @staticmethod
        def load():
            return lambda: registry.register("from-a-package", "a text")(lambda: compositions.METHODS["pgs"])

    class Broken:
        name = "broken"

        @staticmethod
        def load():
            raise ImportError("no such thing")

    monkeypatch.setattr(registry, "_plugins_loaded", False)
    monkeypatch.setattr(registry.metadata, "entry_points", lambda group: [Broken, Point])
    with pytest.warns(UserWarning, match=r"'broken' failed with ImportError"):
        assert registry.get("from-a-package") is compositions.METHODS["pgs"]


@pytest.mark.parametrize(
    "text, sentence",
    [
        (None, "there is no plugin with this name"),
        ("1 / 0", "failed with ZeroDivisionError"),
        ("def", "failed with SyntaxError"),
    ],
)
def test_bad_plugins_are_said_in_a_sentence(tmp_path, text, sentence):
    path = tmp_path / "bad.py"
    if text is not None:
        path.write_text(text)
    with pytest.raises(nonstick.NonstickError, match=sentence):
        nonstick.load_plugin(path)


def test_unknown_names_and_kinds():
    with pytest.raises(nonstick.NonstickError, match="did you mean 'pi-pcg'"):
        registry.get("pi-pgc")
    with pytest.raises(nonstick.NonstickError, match="must be a name"):
        registry.get(3)
    with pytest.raises(nonstick.NonstickError, match=r"give an object of it: ProjectedSOR\("):
        registry.get(nonstick.solvers.ProjectedSOR)
    with pytest.raises(nonstick.NonstickError, match="known are box, linear, viscosity"):
        registry.register("x", "y", kind="heat")
