"""How problems, solutions, scenes and simulations show themselves: a line in a terminal, a table in a notebook.

Colours shared by all pictures (linear 0..1 RGB).
"""

from __future__ import annotations

from html import escape

import numpy as np

AIR = np.array([0.965, 0.97, 0.975])
SOLID = np.array([0.56, 0.575, 0.60])
SOLID_EDGE = np.array([0.36, 0.375, 0.40])
WATER = np.array([0.16, 0.47, 0.78])
WATER_EDGE = np.array([0.05, 0.25, 0.52])
# colours of bodies, in turn: different from the liquid's blue and from each other, also in grey
PAINTS = np.array(
    [
        [0.93, 0.69, 0.30],
        [0.80, 0.36, 0.24],
        [0.47, 0.62, 0.36],
        [0.55, 0.40, 0.62],
        [0.86, 0.83, 0.72],
        [0.36, 0.30, 0.28],
        [0.90, 0.55, 0.62],
        [0.30, 0.58, 0.56],
    ]
)
INK = (45, 48, 54)

# dark blue → teal → yellow-white; readable in grey, and for most people with colour blindness
RAMP = np.array(
    [
        [0.07, 0.16, 0.42],
        [0.10, 0.36, 0.62],
        [0.13, 0.58, 0.68],
        [0.45, 0.77, 0.62],
        [0.90, 0.90, 0.55],
        [1.0, 0.98, 0.88],
    ]
)


def ramp(values: np.ndarray, stops: np.ndarray = RAMP) -> np.ndarray:
    """Colours for values in [0, 1], linear between the stops."""
    at = np.clip(values, 0.0, 1.0) * (len(stops) - 1)
    low = np.minimum(at.astype(int), len(stops) - 2)
    part = (at - low)[..., None]
    return np.asarray(stops[low] * (1 - part) + stops[low + 1] * part)


class Shown:
    """A class with `facts` has a `repr` of one line and a table in notebooks.

    Examples
    --------
    >>> from nonstick.core.show import Shown
    >>> class Pond(Shown):
    ...     def facts(self):
    ...         return {"depth": "2 m", "frogs": 3}
    >>> Pond()
    <Pond: depth 2 m, frogs 3>
    """

    def facts(self) -> dict[str, object]:
        """Names with values, the most important first; each becomes a row of the table."""
        raise NotImplementedError

    def __repr__(self) -> str:
        try:
            line = ", ".join(f"{name} {value}" for name, value in self.facts().items())
        except AttributeError:  # in a debugger, before the object is complete
            line = "not yet built"
        return f"<{type(self).__name__}: {_plain(line)}>"

    def _repr_html_(self) -> str:
        """A table, for notebooks."""
        rows = "".join(
            f"<tr><th style='text-align:left'>{escape(name)}</th>"
            f"<td style='text-align:left'>{escape(_plain(str(value)))}</td></tr>"
            for name, value in self.facts().items()
        )
        return f"<table><caption>{escape(type(self).__name__)}</caption>{rows}</table>"


def _plain(text: str) -> str:
    """Text without control characters: names come from files that anybody may have written."""
    return "".join(c if c.isprintable() else "?" for c in text)


def span(values: np.ndarray) -> str:
    """The range of an array in a few characters.

    Examples
    --------
    >>> import numpy as np
    >>> span(np.array([0.5, 2.0])), span(np.full(3, 1.0)), span(np.empty(0))
    ('0.5 to 2', '1', 'none')
    """
    if not values.size:
        return "none"
    low, high = float(values.min()), float(values.max())
    return f"{low:.4g}" if low == high else f"{low:.4g} to {high:.4g}"


def bound(values: np.ndarray) -> str:
    """One side of a box: its range over the rows that have a bound, and how many these are.

    Examples
    --------
    >>> import numpy as np
    >>> bound(np.zeros(4)), bound(np.array([0.5, np.inf])), bound(np.full(2, np.inf))
    ('0', '0.5 (1 of 2)', 'none')
    """
    finite = values[np.isfinite(values)]
    part = "" if finite.size in (0, values.size) else f" ({finite.size} of {values.size})"
    return f"{span(finite)}{part}"
