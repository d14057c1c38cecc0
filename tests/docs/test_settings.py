"""The page of settings names every one of them."""

import re
from dataclasses import fields
from pathlib import Path

import pytest

from nonstick.discretise.stokes import StokesSettings
from nonstick.inverse.multigrid.algebraic.near_null import AlgebraicSettings
from nonstick.inverse.precond.deflation import DeflationSettings
from nonstick.sim.liquid import settings as liquid
from nonstick.solvers.bodies_apart import NewtonSettings
from nonstick.solvers.safeguards.definite import DefiniteSettings
from nonstick.solvers.safeguards.refinement import RefinementSettings
from nonstick.solvers.takahashi_batty.barrier import BarrierSettings

PAGE = (Path(__file__).parents[2] / "docs/explanation/settings.md").read_text()
CLASSES = [
    AlgebraicSettings, DeflationSettings, NewtonSettings, DefiniteSettings, RefinementSettings, BarrierSettings,
    StokesSettings,
    *(type(v) for k, v in vars(liquid).items() if k.isupper()),
]  # fmt: skip


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
def test_every_setting_is_listed_with_its_value(kind):
    part = PAGE.split(f"**`{kind.__name__}`**")[1].split("**`")[0]
    listed = {}
    for names, values in re.findall(r"^\| (`[^|]*) \| ([^|]*) \|", part, re.M):
        numbers = [float(v.replace(" ", "")) for v in values.split(",")]
        listed |= dict(zip(re.findall(r"`(\w+)`", names), numbers, strict=True))
    assert listed == {field.name: field.default for field in fields(kind)}
