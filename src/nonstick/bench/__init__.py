"""Benchmarks: named tables of methods against sizes, measured the same way.

A benchmark is a function that takes a `Plan` and yields a `Row` per measurement, registered by `@benchmark(...)`.
Tables of papers are data (`papers/*.toml`) that one runner measures (`runner.py`); static cases (`nonstick.cases`) are
benchmarks without further code.
"""

from .measure import sweep
from .registry import Benchmark, Plan, benchmark, benchmarks, get
from .row import Row
from .runner import from_file

__all__ = ["Benchmark", "Plan", "Row", "benchmark", "benchmarks", "from_file", "get", "sweep"]
