"""How problems, solutions, scenes and simulations show themselves: a line in a terminal, a table in a notebook."""

from __future__ import annotations

from html import escape

import numpy as np


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
