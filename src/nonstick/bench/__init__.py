"""Benchmarks: named tables of methods against sizes, measured the same way.

A benchmark is a function that takes a `Plan` and yields a `Row` per measurement, registered by
`@benchmark(...)` in any module of this package; modules are found automatically. Static cases
(`nonstick.cases`) are benchmarks without further code, see `static.py`.
"""

from .registry import Benchmark, Plan, benchmark, benchmarks, get
from .row import Row
from .static import from_file

__all__ = ["Benchmark", "Plan", "Row", "benchmark", "benchmarks", "from_file", "get"]
