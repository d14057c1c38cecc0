"""Formulas of the place: values and derivatives of fields, and what is refused."""

import numpy as np
import pytest

from nonstick import NonstickError
from nonstick.bodies import Expression

POINTS = np.random.default_rng(0).uniform(0.1, 0.9, (3, 50))
FORMULAS = {
    "x*y - z**2": lambda x, y, z: x * y - z**2,
    "sin(pi*x)*cos(pi*y)": lambda x, y, z: np.sin(np.pi * x) * np.cos(np.pi * y),
    "max(x, y, z) - min(x, 2*y)": lambda x, y, z: np.maximum(np.maximum(x, y), z) - np.minimum(x, 2 * y),
    "smooth(3*x - 1) + abs(y - 0.5)": lambda x, y, z: (
        (lambda s: s * s * (3 - 2 * s))(np.clip(3 * x - 1, 0, 1)) + np.abs(y - 0.5)
    ),
    "exp(-x)/(1 + y*y) + sqrt(z)": lambda x, y, z: np.exp(-x) / (1 + y * y) + np.sqrt(z),
    "x**y + 2**z + tanh(x) + log(y) - tan(z)": lambda x, y, z: x**y + 2**z + np.tanh(x) + np.log(y) - np.tan(z),
    "3": lambda x, y, z: np.full(x.shape, 3.0),
}


@pytest.mark.parametrize("text", FORMULAS)
def test_values_and_derivatives(text):
    value, slopes = Expression(text, ("x", "y", "z")).field(*POINTS)
    assert value == pytest.approx(FORMULAS[text](*POINTS))
    for axis, slope in enumerate(slopes):
        h = 1e-6 * np.eye(3)[axis][:, None]
        difference = (FORMULAS[text](*(POINTS + h)) - FORMULAS[text](*(POINTS - h))) / 2e-6
        assert np.median(np.abs(slope - difference)) < 1e-7  # kinks aside
        assert (np.abs(slope - difference) < 1e-4).mean() > 0.95


def test_numbers_and_arrays_agree():
    text = "exp(-t)*cos(5*t) + min(t, 0.3) + smooth(t/2) + t**2 - abs(t - 0.4) + sqrt(t)"
    value, (slope,) = Expression(text).field(np.array([0.2, 0.9]))
    for k, t in enumerate((0.2, 0.9)):
        assert Expression(text)(t) == pytest.approx((value[k], slope[k]), rel=1e-12)


def test_what_has_no_value_is_named():
    with pytest.raises(NonstickError, match=r"'1/\(x - 0.5\)' has no finite value at x = 0.5, y = 1"):
        Expression("1/(x - 0.5)", ("x", "y")).field(np.array([0.1, 0.5]), 1.0)
    with pytest.raises(NonstickError, match="unknown name 't'; known: x, y, pi, e"):
        Expression("x*t", ("x", "y"))


@pytest.mark.parametrize(
    "text",
    ["__import__('os').system('touch x')", "t.__class__", "open('x')", "(lambda: 0)()", "[c for c in (1,)]",
     "t if t else 0", "'a' * 9", "exec('1')", "max.__self__", "globals()", "f'{t}'", "t[0]", "{}", "x:=1"],
)  # fmt: skip
def test_what_a_formula_may_not_do(text, tmp_path, monkeypatch):
    """A formula is arithmetic: no attributes, no calls but those of its list, nothing is run."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(NonstickError):
        Expression(text)(0.5)
    assert not any(tmp_path.iterdir())
