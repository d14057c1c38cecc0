"""A case of `nonstick validate`: an experiment or an exact solution, and how to measure it here.

A case is measured on several grids and with two lengths of the step. Each number that was published is compared with
the number of the finest run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from ..errors import NonstickError

#: x and y of a curve
Curve = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True, order=True)
class Size:
    """One run of a case: how fine its grid and its steps are.

    Attributes
    ----------
    cells : int
        Cells along a length that the case names.
    steps : int
        How many times as many steps as the case takes by itself: 1, or 2 for steps of half the length.

    Examples
    --------
    >>> from nonstick.validation import Size
    >>> str(Size(32, 2))
    '32 cells, steps / 2'
    """

    cells: int
    steps: int = 1

    def __str__(self) -> str:
        return f"{self.cells} cells" + (f", steps / {self.steps}" if self.steps != 1 else "")


@dataclass(frozen=True)
class Published:
    """A number that the literature or an exact solution gives, and how close a run must come to it.

    Attributes
    ----------
    key : str
        Its name in the dictionary of `Measured.values`.
    text : str
        What it is, in a few words.
    value : float
        The published number.
    tolerance : float
        The largest error that passes, as a share of `scale`.
    unit : str
        Unit of the value.
    scale : float, optional
        What an error is divided by; the size of `value` if not given. Needed where the value is 0.
    quick : float, optional
        The tolerance at the coarse grids of a quick run; `tolerance` if not given.
    scatter : float
        What chance, such as the first places of particles, does to the error: smaller errors have no order.

    Examples
    --------
    >>> from nonstick.validation import Published
    >>> speed = Published("speed", "speed of the front", 1.35, 0.05)
    >>> round(speed.error(1.38), 3), speed.passes(1.38), speed.passes(1.5)
    (0.022, True, False)
    """

    key: str
    text: str
    value: float
    tolerance: float
    unit: str = ""
    scale: float | None = None
    quick: float | None = None
    scatter: float = 0.0

    def __post_init__(self):
        if not abs(self.scale if self.scale is not None else self.value) > 0:
            raise NonstickError(f"the published number {self.key!r} is 0: give the scale of its error")

    def error(self, measured: float) -> float:
        """Difference from the published number, as a share of the scale."""
        return (measured - self.value) / abs(self.value if self.scale is None else self.scale)

    def allowed(self, full: bool = True) -> float:
        """The largest error that passes, as a share of the scale."""
        return self.tolerance if full or self.quick is None else self.quick

    def passes(self, measured: float, full: bool = True) -> bool:
        """True if the measured number is close enough; never for NaN."""
        return bool(abs(self.error(measured)) <= self.allowed(full))


@dataclass(frozen=True)
class Measured:
    """What one run of a case found.

    Attributes
    ----------
    values : mapping
        A number for each key of `Case.published`; more numbers are allowed.
    curves : mapping
        Curves for the plot, by name; each is a pair of arrays.
    """

    values: Mapping[str, float]
    curves: Mapping[str, Curve] = field(default_factory=dict)


@dataclass(frozen=True)
class Case:
    """An experiment that `nonstick validate` can run.

    Attributes
    ----------
    name : str
        What users type: short, lower case, with hyphens.
    title : str
        One line that says what happens and what is measured.
    citation : str
        Where the published numbers come from.
    published : tuple of Published
        The numbers to compare with.
    measure : callable
        Takes a `Size` and returns a `Measured`.
    quick, full : tuple of Size
        The runs of `--quick` and `--full`, coarse ones first: the last one is judged. A full case has at least three
        grids, and one of them with steps of half the length.
    axes : tuple of str
        Names of the axes of the curves.
    data : mapping
        Published curves, drawn as points beside the computed ones.
    timeless : bool
        True if the case has no time steps that could be halved.
    about : str
        The set-up, the exact solution and what the measured numbers mean, in a few sentences.

    Examples
    --------
    >>> from nonstick.validation import Case, Measured, Published, Size
    >>> fall = Case("fall", "A stone falls for a second", "Galilei 1638",
    ...             (Published("way", "way", 4.905, 0.01, "m"),),
    ...             lambda size: Measured({"way": 4.905 * (1 + 1 / size.cells)}),
    ...             quick=(Size(8), Size(16)), full=(Size(8), Size(16), Size(32), Size(32, 2)))
    >>> fall.published[0].passes(fall.measure(Size(200)).values["way"])
    True
    """

    name: str
    title: str
    citation: str
    published: tuple[Published, ...]
    measure: Callable[[Size], Measured]
    quick: tuple[Size, ...]
    full: tuple[Size, ...]
    axes: tuple[str, str] = ("", "")
    data: Mapping[str, Curve] = field(default_factory=dict)
    timeless: bool = False
    about: str = ""
