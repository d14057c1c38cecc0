"""The only exception that a user of nonstick has to know."""


class NonstickError(ValueError):
    """Bad input. The message is one sentence: what is wrong, where, and what to do about it."""
