"""Many runs of one scene: every combination of the values of some keys is a run directory."""

from .plan import SweepPlan, parse_vary
from .runs import sweep
from .table import SweepTable

__all__ = ["SweepPlan", "SweepTable", "parse_vary", "sweep"]

#: the name of `SweepPlan` in version 0.1
Plan = SweepPlan
