"""Formulas, keyframes and prescribed motion."""

import numpy as np
import pytest

from nonstick import NonstickError
from nonstick.bodies.body import RigidBody
from nonstick.bodies.expression import Expression
from nonstick.bodies.motion import Prescribed
from nonstick.bodies.world import World
from nonstick.grid import shapes as sd
from nonstick.scenes.schema import MotionTable

FORMULAS = [
    "0.2*sin(2*pi*t)", "t**3 - 2*t/(1+t)", "exp(-t)*cos(3*t) + sqrt(t+1)", "min(t, 2) * max(0.3, tanh(t))",
    "smooth(t/2)*90", "2**t", "-abs(t-5)+log(t+1)", "tan(t/9) - e",
]  # fmt: skip


@pytest.mark.parametrize("text", FORMULAS)
def test_values_and_derivatives(text):
    scope = {name: getattr(np, name) for name in ("sin", "cos", "tan", "exp", "log", "sqrt", "tanh", "pi", "e")}
    scope |= {"abs": abs, "min": min, "max": max}
    scope["smooth"] = lambda x: np.clip(x, 0, 1) ** 2 * (3 - 2 * np.clip(x, 0, 1))
    formula = Expression(text)
    for t in (0.1, 0.7, 1.3, 3.9):
        value, slope = formula(t)
        assert value == pytest.approx(eval(text, {"__builtins__": {}}, scope | {"t": t}))
        h = 1e-6
        assert slope == pytest.approx((formula(t + h)[0] - formula(t - h)[0]) / (2 * h), rel=1e-5, abs=1e-7)


@pytest.mark.parametrize("text", [
    "__import__('os').system('true')", "t.real", "(lambda: 1)()", "[1][0]", "x + 1", "sin(t, 2)", "sin",
    "1 if t else 2", "t +", "'a'", "True", "max(t)", "open('f')", "f(t)", "t @ t", "1e999",
    "-" * 60 + "t",
    "t" * 600, "sin(*t)", "",
])  # fmt: skip
def test_nothing_but_arithmetic(text):
    with pytest.raises(NonstickError, match="formula"):
        Expression(text)


def test_values_that_do_not_exist_are_reported():
    for text, t in (("1/t", 0.0), ("log(t-1)", 0.5), ("exp(t)", 1e4), ("t**t**t", 50.0)):
        with pytest.raises(NonstickError, match="at t ="):
            Expression(text)(t)


def numeric(motion, t, h=1e-6):
    after, before = motion.at(t + h), motion.at(t - h)
    return (after[0] - before[0]) / (2 * h), (after[1] - before[1]) / (2 * h)


@pytest.mark.parametrize("spec", [
    {"velocity": (1.0, 2.0), "spin": 30.0},
    {"amplitude": (0.1, 0.0), "frequency": 2.0},
    {"position": ("sin(t)", "t**2"), "angle": "90*t"},
    {"keys": {"times": (0.0, 1.0, 2.0, 3.0), "offsets": ((0.0, 0.0), (1.0, 0.5), (1.0, 2.0), (3.0, 2.0))}},
    {"keys": {"times": (0.0, 1.0, 4.0), "angles": (0.0, 90.0, 120.0), "smooth": False}, "velocity": (0.0, 1.0)},
])  # fmt: skip
def test_rates_are_those_of_the_positions(spec):
    motion = Prescribed(MotionTable.model_validate(spec), (0.0, 0.0), 2)
    for t in (0.31, 0.77, 1.4, 2.6):
        _, _, rate, spin = motion.at(t)
        want = numeric(motion, t)
        assert np.allclose(rate, want[0], atol=1e-6) and spin == pytest.approx(want[1], abs=1e-6)


def test_keyframes_are_met_without_overshoot():
    keys = {"times": (0.0, 1.0, 1.5, 3.0), "angles": (0.0, 90.0, 90.0, 0.0)}
    motion = Prescribed(MotionTable.model_validate({"keys": keys}), (0.0, 0.0), 2)
    angles = np.degrees([motion.at(t)[1] for t in np.linspace(0, 3.5, 200)])
    assert angles.max() < 90 + 1e-9 and angles.min() > -1e-9
    for t, want in ((0.0, 0.0), (1.0, 90.0), (1.5, 90.0), (3.0, 0.0), (9.0, 0.0)):
        assert np.degrees(motion.at(t)[1]) == pytest.approx(want, abs=1e-9)


def test_start_and_stop():
    motion = Prescribed(MotionTable(velocity=(1.0, 0.0), start=1.0, stop=2.0), (0.0, 0.0), 2)
    assert motion.at(0.5)[0][0] == 0.0 and motion.at(0.5)[2][0] == 0.0
    assert motion.at(1.5)[0][0] == 0.5 and motion.at(1.5)[2][0] == 1.0
    assert motion.at(5.0)[0][0] == 1.0 and motion.at(5.0)[2][0] == 0.0


@pytest.mark.parametrize("d", [2, 3])
def test_a_prescribed_body_turns_about_its_point(d):
    shape = sd.Box((0.4, 0.4, 0.4)[:d], (0.8, 0.6, 0.6)[:d])
    body = RigidBody(shape, 1000.0)
    about = (0.4, 0.5, 0.5)[:d]
    body.motion = Prescribed(MotionTable(spin=90.0, about=about), body.centre, d)
    world = World([body])
    for _ in range(50):
        world.advance(1 / 50)
    # a quarter turn: the bar that lay along x stands along y, and its middle moves to -x
    assert np.allclose(body.centre, (0.4, 0.7, 0.5)[:d])
    assert np.allclose(body.velocity, (-0.2 * np.pi / 2, 0.0, 0.0)[:d])
    inside = [np.array(v) for v in (0.4, 0.85, 0.5)[:d]]
    assert body.phi(*inside) == pytest.approx(-0.05)
    # points move as the body says
    x = np.array((0.45, 0.75, 0.5)[:d])
    v = np.array(body.velocity_at(*x))
    assert np.allclose(v[:2], np.pi / 2 * np.array([-(x[1] - 0.5), x[0] - 0.4]))


@pytest.mark.parametrize("d", [2, 3])
def test_the_mean_velocity_of_a_step_leads_to_the_new_place(d):
    table = MotionTable(velocity=(0.3, -0.2, 0.1)[:d], spin=200.0, axis=(1.0, 2.0, -0.5), about=(0.4, 0.5, 0.1)[:d])
    motion, since, time = Prescribed(table, (0.0,) * d, d), 0.3, 0.42
    x = np.array((0.7, 0.2, 0.6)[:d])
    way = (time - since) * np.array([motion.velocity(a, tuple(x), time, since) for a in range(d)])
    # a tiny ball that is at x at the time `since`, found from where it was at first
    first = x.copy()
    for _ in range(400):
        first -= 0.4 * (_centre(motion, first, since) - x)
    assert np.allclose(_centre(motion, first, time), x + way, atol=1e-7)
    now = [motion.velocity(a, tuple(x), time, time) for a in range(d)]
    assert now == [motion.velocity(a, tuple(x), time) for a in range(d)]


def _centre(motion, x, time):
    """Where a point goes: by Rodrigues' formula, or a matrix in 2D."""
    offset, angle, _, _ = motion.at(time)
    r, c, s = x - motion.about, np.cos(angle), np.sin(angle)
    if x.size == 2:
        return motion.about + offset + np.array([[c, -s], [s, c]]) @ r
    k = motion.axis
    return motion.about + offset + c * r + s * np.cross(k, r) + (1.0 - c) * (k @ r) * k
