"""The only exception that a user of nonstick has to know, a special case of it, and how messages repeat a value."""

from __future__ import annotations

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
