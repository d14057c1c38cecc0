"""The names that `nonstick bench` accepts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from typing import Any

from .. import registry
from ..core.optional import missing
from ..core.options import Stopping
from ..errors import NonstickError, did_you_mean
from .row import Journal, Row


@dataclass(frozen=True)
class Plan:
    """The options of a benchmark run."""

    sizes: tuple[int, ...]
    methods: tuple[str, ...]
    rtol: float = 1e-6
    maxiter: int | None = None
    #: how often a short solve is run
    repeats: int = 3
    #: a solve longer than this is stopped and counts as not converged
    time_limit: float = 300.0
    #: called with a few words before each measurement starts
    announce: Callable[[str], object] = lambda text: None
    #: called with the share of the whole table that is done, 0 to 1, by tables that know it
    done: Callable[[float], object] = lambda share: None
    #: the directory of figures, and the figures drawn so far
    folder: Path = Path()
    drawn: list[Path] = field(default_factory=list)
    #: why figures were omitted, in sentences
    undrawn: set[str] = field(default_factory=set)
    #: measurements that do not have to be repeated
    journal: Journal = field(default_factory=Journal)
    #: parts of the table, by words in their names; none given means all
    only: tuple[str, ...] = ()
    #: of tables over runs: the number of frames, of frames whose first substep is solved, and keys of the scene
    frames: int | None = None
    samples: int | None = None
    keys: Mapping[str, Any] = field(default_factory=dict)

    def chosen(self, parts: Iterable[str]) -> list[str]:
        """The parts of the table that are wanted."""
        return [part for part in parts if not self.only or any(word in part for word in self.only)]

    def within(self, low: float, high: float) -> Plan:
        """The same plan for a part of the table; at its end the share `high` of the whole table is done."""
        return replace(self, done=lambda share: self.done(low + (high - low) * share))

    def draw(self, name: str, draw: Callable[[Path], bool]) -> None:
        """Let `draw` make bench-NAME.png, if matplotlib is installed; it says whether there was something to draw."""
        obstacle = missing("pictures", "matplotlib")
        if obstacle is not None:
            self.undrawn.add(obstacle)
            return
        path = self.folder / f"bench-{name}.png"
        if draw(path) and path not in self.drawn:
            self.drawn.append(path)


@dataclass(frozen=True)
class Benchmark:
    """A named table."""

    name: str
    description: str
    run: Callable[[Plan], Iterator[Row]]
    #: defaults if the user gives no sizes or methods
    sizes: tuple[int, ...]
    methods: tuple[str, ...] = ("all",)
    #: names of the problems of a table that has several
    parts: tuple[str, ...] = ()
    #: True if its problems come from the run of a scene
    simulated: bool = False

    def plan(self, sizes: tuple[int, ...] = (), methods: tuple[str, ...] = (), **options) -> Plan:
        """A plan with this benchmark's defaults filled in and every name checked."""
        sizes = tuple(dict.fromkeys(sizes)) or self.sizes
        for n in sizes:
            if n < 2:
                raise NonstickError(f"size {n} is too small: a grid needs at least 2 cells along each side")
        if methods and not self.methods:
            raise NonstickError(f"{self.name} has its own methods: remove --methods")
        plan = Plan(sizes, method_names(methods or self.methods), **options)
        Stopping(plan.rtol, maxiter=plan.maxiter)  # which checks them
        for word in plan.only:
            if not any(word in part for part in self.parts):
                known = f"its parts are {', '.join(map(repr, self.parts))}" if self.parts else "it has one part"
                raise NonstickError(f"{self.name} has no part {word!r}: {known}")
        if not self.simulated and (plan.frames or plan.samples or plan.keys):
            raise NonstickError(f"{self.name} is not an average over a run: remove --frames, --samples and --set")
        if not all(count is None or count > 0 for count in (plan.frames, plan.samples)):
            raise NonstickError("--frames and --samples must be positive")
        if not plan.time_limit >= 0:
            raise NonstickError(f"the time limit is {plan.time_limit:g} s; it must be zero or positive")
        return plan


_BENCHMARKS: dict[str, Benchmark] = {}


def benchmark(
    name: str,
    description: str,
    *,
    sizes: tuple[int, ...],
    methods: tuple[str, ...] = ("all",),
    parts: Iterable[str] = (),
    simulated: bool = False,
):
    """Decorator: makes a function `(plan) -> rows` a benchmark of that name."""

    def add(run: Callable[[Plan], Iterator[Row]]) -> Callable[[Plan], Iterator[Row]]:
        _BENCHMARKS[name] = Benchmark(name, description, run, sizes, methods, tuple(parts), simulated)
        return run

    return add


def benchmarks() -> dict[str, Benchmark]:
    """Every benchmark by name: the static cases, then the tables."""
    for module in ("runner", "peers"):
        import_module(f"{__package__}.{module}")
    return dict(_BENCHMARKS)


def get(name: str) -> Benchmark:
    known = benchmarks()
    if name not in known:
        raise NonstickError(f"unknown case {name!r}{did_you_mean(name, known)}; `nonstick cases` lists all")
    return known[name]


def method_names(names: tuple[str, ...]) -> tuple[str, ...]:
    """`all` becomes every method that solves the complementarity problem; unknown names are an error."""
    out: list[str] = []
    for name in names:
        if name == "all":
            out += [key for key, entry in registry.entries().items() if entry.complete]
        else:
            out.append(registry.name_of(name))
    return tuple(dict.fromkeys(out))
