"""What ranks tell one another: sums in a fixed order, maxima, objects, pieces of arrays, and errors.

`world()` is all ranks of this run. Without mpiexec it is `SELF`, one rank alone, which answers for itself at no cost,
does not change a bit and needs neither mpi4py nor petsc4py. So a run in one process is a run on one rank.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from ..core import optional
from ..errors import NonstickError
from . import launch


@dataclass
class Traffic:
    """What this rank has sent: messages to single ranks and their bytes, and how often all ranks waited for all."""

    messages: int = 0
    bytes: int = 0
    reductions: int = 0

    def reset(self) -> None:
        self.messages = self.bytes = self.reductions = 0


class Comm:
    """One rank alone. `Ranks` has the same methods for many."""

    rank: int = 0
    size: int = 1
    #: on many ranks: mpi4py's communicator, and PETSc
    mpi: Any = None
    petsc: Any = None

    def __init__(self) -> None:
        self.traffic = Traffic()

    def total(self, values: Any) -> Any:
        """The sum over all ranks of a number or an array, the same bits on every rank and in every run.

        Parameters
        ----------
        values : float, int or ndarray
            Of the same shape on every rank.
        """
        return values

    def largest(self, values: Any) -> Any:
        """The maximum over all ranks of a number or of every entry of an array; NaN if one is NaN."""
        return values

    def any(self, flag: bool) -> bool:
        """True if the flag is True on at least one rank."""
        return bool(flag)

    def first(self, flag: bool) -> bool:
        """True on the first rank on which the flag is True, and on no other."""
        return bool(flag)

    def fingerprint(self, values: np.ndarray) -> np.ndarray:
        """An array that is equal on all ranks, and equal to an earlier one if `values` was equal on every rank."""
        return values

    def gathered(self, thing: Any) -> list[Any]:
        """The objects of all ranks, in the order of ranks, on every rank."""
        return [thing]

    def shared(self, thing: Any) -> Any:
        """The object of rank 0, on every rank."""
        return thing

    def joined(self, piece: np.ndarray, counts: Sequence[int] | None = None) -> np.ndarray:
        """The arrays of all ranks, one after the other along the first axis, on every rank.

        `counts` are their lengths, if they are known: that saves a message.
        """
        return piece

    def swapped(self, pieces: Mapping[int, np.ndarray]) -> dict[int, np.ndarray]:
        """Send `pieces[r]` to rank r, and return what each rank has sent here.

        All pieces have one dtype and the same shape but for the first axis. Ranks that are left out get nothing.
        """
        return dict(pieces)

    def wait(self) -> None:
        """Go on when all ranks have come here."""

    def all_come_within(self, seconds: float) -> bool:
        """True if every rank comes here in time."""
        return True

    def abort(self, code: int) -> None:
        """End all ranks at once."""
        raise SystemExit(code)

    def agree(self, error: Exception | None) -> None:
        """Raise the error of the first rank that has one, on all ranks; every rank calls it."""
        if error is not None:
            raise error

    @contextmanager
    def same_outcome(self) -> Iterator[None]:
        """If the block fails with a sentence on one rank, it fails with that sentence on all.

        The block must not communicate: ranks that do not fail would wait for the one that did.
        """
        caught: Exception | None = None
        try:
            yield
        except (NonstickError, OSError, MemoryError) as error:
            caught = error
        self.agree(caught)


#: one process alone
SELF = Comm()


@cache
def world() -> Comm:
    """All ranks of this run.

    Raises
    ------
    NonstickError
        If a launcher started several ranks and mpi4py or petsc4py is missing.

    Examples
    --------
    >>> world().size, world().total(3)
    (1, 3)
    """
    if launch.ranks() < 2:
        return SELF
    launch.find_petsc()
    optional.need("mpi", "mpi4py", "petsc4py")
    from .ranks import Ranks

    return Ranks()
