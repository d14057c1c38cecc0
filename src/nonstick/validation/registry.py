"""The cases there are: every file of `cases/` is looked at, so a new case is a new file and nothing else."""

from __future__ import annotations

import pkgutil
from importlib import import_module

from .case import Case


def experiments() -> dict[str, Case]:
    """All cases by name, in alphabetical order.

    Examples
    --------
    >>> from nonstick.validation import experiments
    >>> experiments()["slosh"].title
    'Water sloshes in a tank: period of the first mode'
    """
    package = import_module(f"{__package__}.cases")
    found: dict[str, Case] = {}
    for info in pkgutil.iter_modules(package.__path__):
        if not info.name.startswith("_"):
            for case in import_module(f"{package.__name__}.{info.name}").CASES:
                assert case.name not in found, f"two cases are called {case.name}"
                found[case.name] = case
    return dict(sorted(found.items()))
