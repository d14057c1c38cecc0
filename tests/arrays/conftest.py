"""Array libraries for the tests; JAX in double precision, as every test here wants it."""

import os

import pytest

LIBRARIES = ("numpy", "strict", "torch", "jax")


@pytest.fixture(params=LIBRARIES)
def library(request):
    if request.param == "torch" and not os.environ.get("NONSTICK_ARRAYS"):  # make test-arrays sets it: then it must be
        pytest.importorskip("torch", reason="PyTorch's CPU build is not on the package index: make test-arrays")
    return request.param
