"""Runs of heat scenes on the command line: what `nonstick run | resume | info` do for temperatures."""

from __future__ import annotations

from pathlib import Path

from .terminal import say


def run(scene, target: Path) -> None:
    """Make all frames of a heat scene."""
    from ..sim.heat.run import run as go

    go(scene, target, _line(scene.model.time.frames))
    _report(target)


def resume(directory: Path, from_frame: int | None, frames: int | None, scene: Path | None) -> bool:
    """Go on with a run of heat; does its scene want a movie?"""
    from ..io.rundir import RunDirectory
    from ..scenes.heat import HeatScene
    from ..sim.heat.run import load
    from ..sim.heat.run import resume as go

    own = load(RunDirectory.open(directory))
    again = None if scene is None else HeatScene.load(scene)
    go(directory, from_frame, frames, again, _line(frames or own.model.time.frames))
    _report(directory)
    return own.model.output.movie


def _line(frames: int):
    def line(frame: int, row: dict) -> None:
        if frame % max(1, frames // 20) == 0 or frame == frames:
            steps = f"{row['outer_iterations']} steps  {row['coldest']:.2f} to {row['hottest']:.2f}"
            say(f"frame {frame}/{frames}  {steps}")

    return line


def _report(directory: Path) -> None:
    from ..io.rundir import RunDirectory

    opened = RunDirectory.open(directory)
    say(opened.log_lines()[-1]["message"])
    say_summary(opened.meta()["summary"])
    say(f"the run is in {directory}")


def say_summary(numbers: dict) -> None:
    if not numbers.get("steps"):
        say("no step yet")
        return
    say(
        f"{numbers['mean_iterations']:.1f} iterations ({numbers['mean_outer_iterations']:.2f} outer) a frame, "
        f"{numbers['mean_step_seconds']:.3g} s, "
        f"largest KKT {numbers['largest_kkt']:.1e}, {numbers['unconverged']} not converged"
    )
    say(f"{numbers['coldest']:.2f} to {numbers['hottest']:.2f} degrees outside the bands")
