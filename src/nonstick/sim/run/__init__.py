"""Runs: the loop over frames, checkpoints and branches of runs, their exports and previews."""

from ..._lazy import on_first_use

__getattr__ = on_first_use(__name__, {"resume": ".loop", "run": ".loop"})
