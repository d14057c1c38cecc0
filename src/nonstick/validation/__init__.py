"""`nonstick validate`: published experiments and exact solutions, run here and compared.

Every file of `cases/` holds one experiment: a tuple `CASES` of `Case` (several, if they share a set-up).
"""

from __future__ import annotations

from .case import Case, Measured, Published, Size
from .registry import experiments

__all__ = ["Case", "Measured", "Published", "Size", "experiments"]
