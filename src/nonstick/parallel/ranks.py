"""`Comm` for many ranks. Only this file imports mpi4py and petsc4py."""

from __future__ import annotations

import os
import time
from functools import cached_property
from typing import Any
from zlib import crc32

import mpi4py
import numpy as np

from ..errors import NonstickError
from .comm import Comm

mpi4py.rc.thread_level = "funneled"  # one Python thread talks; locks for more cost time in every message
from mpi4py import MPI  # noqa: E402

_TAG = 7


class Ranks(Comm):
    """The ranks of MPI_COMM_WORLD, or of another communicator."""

    def __init__(self, comm: Any = None):
        super().__init__()
        self.mpi = MPI.COMM_WORLD if comm is None else comm
        self.rank, self.size = self.mpi.Get_rank(), self.mpi.Get_size()
        if "NUMBA_NUM_THREADS" not in os.environ:
            import numba

            numba.set_num_threads(1)

    @cached_property
    def petsc(self) -> Any:
        """PETSc. Python frees its objects whenever it likes, on each rank at another time; the last object on a
        communicator frees that too, for which all ranks must meet. One object stays, so that this never happens."""
        import petsc4py

        petsc4py.init([])
        from petsc4py import PETSc

        self._anchor = PETSc.SF().create(comm=self.mpi)
        return PETSc

    def _collected(self, values: Any) -> np.ndarray:
        """The arrays of all ranks along a new first axis."""
        own = np.asarray(values, order="C")
        own = own.astype(np.int64) if own.dtype.kind in "bui" else own.astype(np.float64, copy=False)
        rows = np.empty((self.size, *own.shape), own.dtype)
        self.mpi.Allgather(own, rows)
        self.traffic.reductions += 1
        return rows

    def total(self, values):
        rows = self._collected(values)
        out = rows[0].copy()
        for row in rows[1:]:  # in the order of ranks: MPI may choose another order for its own sums
            out += row
        return out if isinstance(values, np.ndarray) else out.item()

    def largest(self, values):
        out = self._collected(values).max(axis=0)
        return out if isinstance(values, np.ndarray) else out.item()

    def any(self, flag):
        return bool(self.largest(int(flag)))

    def first(self, flag):
        flags = self.gathered(bool(flag))  # on every rank
        return flags[self.rank] and not any(flags[: self.rank])

    def fingerprint(self, values):
        return np.array(self.gathered(crc32(np.ascontiguousarray(values).tobytes())), np.int64)

    def gathered(self, thing):
        self.traffic.reductions += 1
        return self.mpi.allgather(thing)

    def shared(self, thing):
        self.traffic.reductions += 1
        return self.mpi.bcast(thing, root=0)

    def joined(self, piece, counts=None):
        piece = np.ascontiguousarray(piece)
        counts = self._collected(len(piece)).tolist() if counts is None else counts
        width = int(np.prod(piece.shape[1:]))
        out = np.empty((sum(counts), *piece.shape[1:]), piece.dtype)
        kind = mpi_type(piece.dtype)
        self.mpi.Allgatherv([piece, kind], [out, [c * width for c in counts], kind])
        self.traffic.reductions += 1
        self.traffic.bytes += piece.nbytes
        return out

    def swapped(self, pieces):
        sends = {r: np.ascontiguousarray(piece) for r, piece in pieces.items() if len(piece)}
        sizes = np.zeros(self.size, np.int64)
        for r, piece in sends.items():
            sizes[r] = len(piece)
        coming = np.empty_like(sizes)
        self.mpi.Alltoall(sizes, coming)
        self.traffic.reductions += 1
        # Only ranks that send know the shape of a row, so it travels with the first piece to each rank.
        out: dict[int, np.ndarray] = {}
        if self.rank in sends:
            out[self.rank] = sends[self.rank]
        others = {r: p for r, p in sends.items() if r != self.rank}
        waiting = [self.mpi.isend((p.dtype, p.shape[1:]), r, _TAG) for r, p in others.items()]
        waiting += [self.mpi.Isend(_bytes(p), r, _TAG + 1) for r, p in others.items()]
        self.traffic.messages += len(others)
        self.traffic.bytes += sum(p.nbytes for p in others.values())
        for r in np.flatnonzero(coming):
            if r != self.rank:
                dtype, shape = self.mpi.recv(source=r, tag=_TAG)
                out[int(r)] = np.empty((coming[r], *shape), dtype)
                self.mpi.Recv(_bytes(out[int(r)]), r, _TAG + 1)
        MPI.Request.waitall(waiting)
        return dict(sorted(out.items()))

    def wait(self):
        self.mpi.Barrier()

    def all_come_within(self, seconds):
        request = self.mpi.Ibarrier()
        end = time.monotonic() + seconds
        while not request.Test():
            if time.monotonic() > end:
                return False
            time.sleep(0.01)
        return True

    def abort(self, code):
        self.mpi.Abort(code)

    def agree(self, error):
        sentences = self.gathered(None if error is None else _sentence(error))
        failed = [r for r, sentence in enumerate(sentences) if sentence is not None]
        if not failed:
            return
        first = sentences[failed[0]]
        everywhere = len(failed) == self.size and len(set(sentences)) == 1
        raise NonstickError(first if everywhere else f"rank {failed[0]} of {self.size}: {first}")


def _bytes(array: np.ndarray) -> list:
    return [array.reshape(-1).view(np.uint8), MPI.BYTE]


def _sentence(error: Exception) -> str:
    if isinstance(error, MemoryError):
        return "there is not enough memory for a problem of this size; make it smaller, or use more machines"
    if isinstance(error, OSError):
        return f"cannot use {error.filename or 'a file'}: {error.strerror or error}"
    return str(error)


def mpi_type(dtype: np.dtype) -> Any:
    """MPI's name of a NumPy type."""
    return MPI._typedict[np.dtype(dtype).char]
