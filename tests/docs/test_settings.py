"""The page of settings names every one of them."""

import re
from dataclasses import fields
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/explanation/settings.md").read_text()
MODULES = {
    name: ".".join(file.relative_to(ROOT / "src").with_suffix("").parts)
    for file in sorted((ROOT / "src").rglob("*.py"))
    for name in re.findall(r"^class (\w+Settings):", file.read_text(), re.M)
}


@pytest.mark.parametrize("name", MODULES)
def test_every_setting_is_listed_with_its_value(name):
    kind = getattr(import_module(MODULES[name]), name)
    part = PAGE.split(f"**`{name}`**")[1].split("**`")[0]
    listed = {}
    for names, values in re.findall(r"^\| (`[^|]*) \| ([^|]*) \|", part, re.M):
        numbers = [float(v.replace(" ", "")) for v in values.split(",")]
        listed |= dict(zip(re.findall(r"`(\w+)`", names), numbers, strict=True))
    assert listed == {field.name: field.default for field in fields(kind)}
