"""One measurement."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field


@dataclass
class Row:
    """The result of one method on one problem; the field names are the keys of the JSON rows.

    A method that cannot treat a case has a `reason` and no numbers.
    """

    case: str
    #: cells along the longest side of the grid
    n: int
    unknowns: int | None
    method: str
    #: in the unit of the method's paper: V-cycles, CG iterations, sweeps; a mean may not be an integer
    iterations: float | None = None
    outer_iterations: float | None = None
    #: the whole solve, set-up included, without building the problem and without compiling
    seconds: float | None = None
    setup_seconds: float | None = None
    #: recomputed from the problem after the solve
    kkt: float | None = None
    converged: bool = False
    #: the rise of resident memory during the solve; None if the system cannot measure it
    peak_bytes: int | None = None
    threads: int | None = None
    #: entries stored by a preconditioner and the matrix, if a table counts them
    nonzeros: int | None = None
    #: levels of a multigrid hierarchy, if a table counts them
    levels: int | None = None
    #: why there are no numbers, or why it did not converge
    reason: str | None = None
    #: what finished the solve, if the method could not: "CG", "policy iteration", "projected SOR" or "descent"
    finished_by: str | None = None
    #: the version of nonstick that measured it, and a hash of its source
    version: str = ""
    #: processor time of the process during the solve, over all threads; other work on the machine hardly changes it
    cpu_seconds: float | None = None
    #: of an average: the number of solves
    solves: int | None = None
    #: True if missing the tolerance is a failure; False for ablations, fixed work and problems without a solution
    must_converge: bool = True
    #: further numbers by their name and unit, if a table has them ("slowdown in %", "volume change in %", ...)
    extra: dict[str, float] = field(default_factory=dict)

    @property
    def missed(self) -> bool:
        """True if it ran and should have reached the tolerance, but has not."""
        return self.must_converge and not self.converged and (self.iterations is not None or bool(self.extra))

    def asdict(self) -> dict[str, object]:
        return asdict(self)


def to_json(rows: Iterable[Row]) -> str:
    """A JSON array, one row per line."""
    lines = ",\n".join(json.dumps(row.asdict(), ensure_ascii=False) for row in rows)
    return f"[\n{lines}\n]\n"
