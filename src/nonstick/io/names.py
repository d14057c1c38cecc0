"""File names made from the names in scene files."""

from __future__ import annotations

import re
from collections.abc import Iterable

#: bytes of a file name, which leaves room for a number and an ending
LONGEST = 120


def safe_name(text: str, fallback: str = "scene") -> str:
    """A name that stays in its folder: letters, digits, `.`, `-` and `_`, without leading dots.

    Examples
    --------
    >>> from nonstick.io.names import safe_name
    >>> safe_name("ball 1"), safe_name("../../x"), safe_name("..")
    ('ball-1', 'x', 'scene')
    """
    name = re.sub(r"[^\w.-]+", "-", text).strip(".-")
    return name.encode()[:LONGEST].decode(errors="ignore").strip(".-") or fallback


def safe_names(texts: Iterable[str], fallback: str = "scene") -> list[str]:
    """One name for each text, no two alike, also where upper and lower case count as the same.

    Examples
    --------
    >>> from nonstick.io.names import safe_names
    >>> safe_names(["ball 1", "ball-1", "Ball 1"])
    ['ball-1', 'ball-1-2', 'Ball-1-3']
    """
    taken: set[str] = set()
    out = []
    for text in texts:
        own = name = safe_name(text, fallback)
        number = 2
        while name.lower() in taken:
            name = f"{own}-{number}"
            number += 1
        taken.add(name.lower())
        out.append(name)
    return out
