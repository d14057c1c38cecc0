"""Methods for box problems, one a file; called as a function, `nonstick.lcp(M, q)` solves an LCP.

The package and the function of the public interface share their name, and Python binds a subpackage to
its parent whenever it is imported. So the package itself can be called.
"""

from __future__ import annotations

import sys
from types import ModuleType


class _CallablePackage(ModuleType):
    def __call__(self, M, q, **options):
        """Solve `0 ≤ x ⟂ M x + q ≥ 0`; see `nonstick.api.lcp`."""
        from ..api import lcp

        return lcp(M, q, **options)


sys.modules[__name__].__class__ = _CallablePackage
