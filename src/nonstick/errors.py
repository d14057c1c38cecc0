"""The one exception a user of nonstick has to know."""


class NonstickError(ValueError):
    """Bad input, said in one sentence: what is wrong, where, and what to do about it."""
