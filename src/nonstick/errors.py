"""The only exception that a user of nonstick has to know, a special case of it, and how messages repeat a value."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

#: longest value that is repeated in a message
_SHOWN = 60


class NonstickError(ValueError):
    """Bad input. The message is one sentence: what is wrong, where, and what to do about it."""


class EntriesNeededError(NonstickError):
    """A method asked for the entries of a matrix of which only products are known."""


def brief(value: object) -> str:
    """A value as messages repeat it: as Python writes it, on one line, and never long."""
    try:
        text = " ".join(repr(value).split())
    except (ValueError, RecursionError):  # a number of thousands of digits; lists without end
        return "a very long value"
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 4]}…{text[-1]}"


def did_you_mean(word: str, known: Iterable[str], most: int = 3, cutoff: float = 0.5) -> str:
    """The part of a message that names the known words nearest to one that is not known; empty if none is near.

    Examples
    --------
    >>> from nonstick.errors import did_you_mean
    >>> did_you_mean("spere", ["sphere", "circle"]), did_you_mean("xyz", ["sphere"])
    (", did you mean 'sphere'", '')
    """
    close = difflib.get_close_matches(word, list(known), n=most, cutoff=cutoff)
    return f", did you mean {' or '.join(map(repr, close))}" if close else ""
