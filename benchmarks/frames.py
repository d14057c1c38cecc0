"""Frames: what the bounds cost in a simulation.

Each pressure problem of the sphere scene is solved by `auto`, warm as in the simulator, and by our linear solve, from
the same pressure and from zero. The liquid moves on with the simulator's own solution.
"""

from __future__ import annotations

import time

import numpy as np
from common import Rows, figure, options, progress, show

from nonstick.scenes.scene import Scene
from nonstick.sim.liquid.simulation import Simulation


def main(out="benchmarks/results", sizes=(16,), frames=3, every=1, repeats=1, scene="sphere"):
    rows = Rows(out, "frames", ("scene", "n", "step"))
    taken: dict[int, list[tuple[float, int]]] = {}  # seconds and substeps of each frame, without the extra solves
    with progress("frames", len(sizes) * frames) as step:
        for n in sizes:
            simulation = Simulation(Scene.load(scene, {"domain.resolution": n}))
            record = _Record(simulation, rows, {"scene": scene, "n": n}, every, repeats)
            for frame in range(frames):
                step(f"{n}³, frame {frame + 1} of {frames}")
                record.frame = frame + 1
                began, extra, steps = time.perf_counter(), record.seconds, record.steps
                simulation.next_frame()
                if frame or frames == 1:
                    taken.setdefault(n, []).append(
                        (time.perf_counter() - began - (record.seconds - extra), record.steps - steps)
                    )
    lines = []
    for n in sorted({row["n"] for row in rows if row["scene"] == scene}):
        # The first frame compiles; kernels are compiled once, so it is left out of the means where there are others.
        of = [row for row in rows if (row["scene"], row["n"]) == (scene, n)]
        of = [row for row in of if row["frame"] > 1] or of
        total = {key: sum(row[key] for row in of) for key in ("auto", "linear", "linear_cold")}
        mean = float(np.mean([row["auto"] / row["linear"] for row in of]))
        cycles = [float(np.mean([row[key] for row in of])) for key in ("cycles", "changes", "linear_cycles")]
        lines.append([
            n, max(row["frame"] for row in of), len(of), *cycles, total["auto"] / total["linear"], mean,
            total["auto"] / total["linear_cold"], max(row["kkt"] for row in of),
        ])  # fmt: skip
    heads = ["n", "frames", "solves", "cycles", "changes", "linear cycles", "Σauto/Σlinear", "mean ratio",
             "÷ cold linear", "worst kkt"]  # fmt: skip
    show(f"scene {scene}: warm auto against our linear solve from the same start", heads, lines)
    for n, pairs in taken.items():
        seconds, steps = (sum(column) for column in zip(*pairs))
        print(f"the simulation at {n}³ took {seconds / max(steps, 1):.3f} s a substep over {steps} substeps")
    with figure(rows.path.with_suffix(".png")) as axes:
        for n in sorted({row["n"] for row in rows if row["scene"] == scene}):
            of = [row for row in rows if (row["scene"], row["n"]) == (scene, n)]
            axes.plot(
                [row["step"] for row in of], [row["auto"] / row["linear"] for row in of], ".", ms=4, label=f"{n}³"
            )
        axes.axhline(1.25, color="0.4", lw=0.8, ls=":")
        axes.set_ylim(bottom=0)
        axes.set(xlabel="step", ylabel="auto ÷ linear", title=f"scene {scene}, warm start")
        axes.legend(frameon=False)
    return rows


class _Record:
    """The observer of a liquid that solves every pressure problem again by other means."""

    def __init__(self, simulation: Simulation, rows: Rows, label: dict, every: int, repeats: int):
        self.rows, self.label, self.every, self.repeats = rows, label, every, repeats
        self.frame = self.steps = 0
        #: spent on solving again
        self.seconds = 0.0
        self.stage = simulation.liquid.projection
        self._before = self._now()
        simulation.liquid.observer = self

    def _now(self) -> tuple:
        """The box that the fields cover, the pressure and the contact set."""
        return self.stage.solids.partition.held.three(), self.stage.pressure.copy(), self.stage.active.copy()

    def projected(self, outcome, masses) -> None:
        self.steps += 1
        if self.steps % self.every == 0:
            began = time.perf_counter()
            box, *fields = self._before
            new = self._now()[0]
            before, contact = (box.moved(array, new).reshape(outcome.problem.shape) for array in fields)
            self._compare(outcome.problem, before, contact)
            self.seconds += time.perf_counter() - began
        self._before = self._now()

    def moving(self, flow) -> None:
        """The motion is not looked at."""

    def moved(self) -> None:
        """Nor is its end."""

    def _compare(self, problem, before, contact) -> None:
        rtol = self.stage.solver.rtol
        start = {"x0": before, "active": problem.rows.from_grid(contact)} if before.any() else {}
        # In turn, so that all three find the machine and its caches in the same state.
        runs = [
            (problem.solve("mg-cg", rtol=rtol, x0=before), problem.solve("mg-cg", rtol=rtol),
             problem.solve("auto", rtol=rtol, **start)) for _ in range(self.repeats)
        ]  # fmt: skip
        linear, cold, auto = (min(found, key=lambda s: s.seconds) for found in zip(*runs))
        self.rows.add({
            **self.label, "frame": self.frame, "step": self.steps, "unknowns": problem.problem.n,
            "auto": auto.seconds, "linear": linear.seconds, "linear_cold": cold.seconds, "cycles": auto.iterations,
            "changes": auto.outer_iterations, "linear_cycles": linear.iterations,
            "linear_cold_cycles": cold.iterations, "kkt": auto.kkt(), "converged": auto.converged,
        })  # fmt: skip


if __name__ == "__main__":
    main(**options(__doc__, sizes=(64,), frames=100, every=1, repeats=1, scene="sphere"))
