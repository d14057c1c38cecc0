"""The scale of colours as a piece of a page."""

from __future__ import annotations

from html import escape

from ..render.palette import RAMP
from .colours import WIDE, Scale


def legend(scale: Scale | None) -> str:
    """A bar of colours with the values at its ends; nothing if the liquid has its own colour.

    >>> "4 m/s" in legend(Scale("speed", "m/s", 0.0, 4.0))
    True
    """
    if scale is None:
        return ""
    colours = ", ".join("rgb({:.0f}, {:.0f}, {:.0f})".format(*(255 * c)) for c in RAMP)
    kind = ", logarithmic" if scale.low > 0.0 and scale.high > WIDE * scale.low else ""
    return (
        f'<div style="font: 0.8em sans-serif; padding: 0.2em 0.6em; min-width: 14em">{escape(scale.name)}{kind}'
        f'<div style="height: 0.7em; border-radius: 2px; background: linear-gradient(to right, {colours})"></div>'
        f'<span style="float: left">{scale.low:.3g}</span>'
        f'<span style="float: right">{scale.high:.3g} {escape(scale.unit)}</span><br></div>'
    )
