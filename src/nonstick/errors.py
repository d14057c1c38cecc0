"""The only exception that a user of nonstick has to know, and a special case of it."""


class NonstickError(ValueError):
    """Bad input. The message is one sentence: what is wrong, where, and what to do about it."""


class EntriesNeededError(NonstickError):
    """A method asked for the entries of a matrix of which only products are known."""
