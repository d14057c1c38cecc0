"""Examples in docstrings are true: each runs, in a folder of its own, and prints what it says."""

import doctest
import pkgutil
from importlib import import_module

import pytest

import nonstick
from nonstick import registry
from nonstick.grid.shapes import base

FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


#: packages that come with an MPI library (make mpi) or in a build of their own (make test-arrays), not from the index
ELSEWHERE = ("mpi4py", "petsc4py", "torch")


def modules():
    yield nonstick
    for module in pkgutil.walk_packages(nonstick.__path__, "nonstick."):
        if module.name.split(".")[-1] != "__main__":
            try:
                yield import_module(module.name)
            except ModuleNotFoundError as missing:
                if missing.name not in ELSEWHERE:
                    raise


def examples():
    """Every docstring of the package that has an example."""
    finder = doctest.DocTestFinder(exclude_empty=True)
    found = [test for module in modules() for test in finder.find(module, module.__name__) if test.examples]
    return [pytest.param(test, id=test.name) for test in found]


@pytest.mark.parametrize("example", examples())
def test_an_example_prints_what_it_says(example, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    # methods and shapes that an example defines are not known to other tests
    monkeypatch.setattr(registry, "_METHODS", dict(registry._METHODS))
    monkeypatch.setattr(base, "_KINDS", dict(base._KINDS))
    said: list[str] = []
    runner = doctest.DocTestRunner(optionflags=FLAGS)
    runner.run(example, out=said.append, clear_globs=False)
    assert runner.failures == 0, "".join(said)
