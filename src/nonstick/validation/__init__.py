"""`nonstick validate`: published experiments and exact solutions, run here and compared.

A case is a table in a TOML file of `cases/`: a scene, what is measured on it, and the published numbers.
"""

from __future__ import annotations

from .case import Case, Measured, Published, Size
from .library import experiments

__all__ = ["Case", "Measured", "Published", "Size", "experiments"]
