"""Many runs of one scene: every combination of the values of some keys is a run directory."""

from .plan import Plan, parse_vary
from .runs import sweep
from .table import SweepTable

__all__ = ["Plan", "SweepTable", "parse_vary", "sweep"]
