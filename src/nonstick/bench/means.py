"""Averages over the solves of a run, and statistics of their residuals."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .row import Row

#: (iterations, residual) after each iteration
Trace = list[tuple[float, float]]


def mean_row(case: str, n: int, method: str, rows: Sequence[Row], stopped: str = "") -> Row:
    """The average of several rows of one method; it has converged if all rows have that are expected to.

    `stopped` says where a run was interrupted; its average is over the rows made so far.
    """
    good = [r for r in rows if r.iterations is not None]
    if not good:
        return Row(case, n, None, method, reason=rows[0].reason if rows else "no problem to solve")

    def mean(name: str) -> float:
        return round(float(np.mean([getattr(r, name) for r in good])), 6)

    bound = [r for r in good if r.must_converge]
    missed = sum(not r.converged for r in bound or good)
    unsolvable = len(good) - len(bound) if bound else 0  # rows are of one method and differ only by the problem
    peaks = [r.peak_bytes for r in good if r.peak_bytes is not None]
    reasons = [stopped] if stopped else []
    if missed:
        reasons.append(f"{missed} of {len(good)} solves did not converge")
    if unsolvable:
        reasons.append(f"{unsolvable} of {len(good)} problems hold a compressed pocket and have no solution")
    if len(good) < len(rows):
        reasons.append(f"it cannot treat {len(rows) - len(good)} of {len(rows)} problems")
    return Row(
        case, n, round(mean("unknowns")), method,
        iterations=round(mean("iterations"), 2),
        outer_iterations=round(mean("outer_iterations"), 2),
        seconds=mean("seconds"),
        setup_seconds=mean("setup_seconds"),
        kkt=max(r.kkt for r in good if r.kkt is not None),
        converged=missed == 0,
        peak_bytes=max(peaks) if peaks else None,
        threads=good[0].threads,
        cpu_seconds=None if any(r.cpu_seconds is None for r in good) else mean("cpu_seconds"),
        finished_by=_finished(good),
        version=good[0].version,
        solves=len(good),
        levels=max((r.levels for r in good if r.levels is not None), default=None),
        reason="; ".join(reasons) or None,
        must_converge=bool(bound),
    )  # fmt: skip


def _finished(rows: Sequence[Row]) -> str | None:
    """What finished the solves that their method could not finish, and how many these are."""
    by = [r.finished_by for r in rows if r.finished_by]
    return f"{', '.join(dict.fromkeys(by))} in {len(by)} of {len(rows)}" if by else None


def quartiles(traces: Sequence[Trace]) -> tuple[np.ndarray, np.ndarray]:
    """Iteration counts, and at each the smallest, lower quartile, median, upper quartile and largest residual.

    A residual is valid until the next one, and the last one is valid for ever: a solve that has ended still counts in
    the distribution. The result is an array of 5 rows.
    """
    traces = [t for t in traces if t]
    if not traces:
        return np.empty(0), np.empty((5, 0))
    at = np.unique([k for trace in traces for k, _ in trace])
    values = np.empty((len(traces), at.size))
    for row, trace in zip(values, traces):
        k, residual = np.array(trace, float).T
        row[:] = residual[np.maximum(np.searchsorted(k, at, side="right") - 1, 0)]
    return at, np.percentile(values, (0, 25, 50, 75, 100), axis=0)
