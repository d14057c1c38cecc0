"""Viscous threads and sheets: their closed form."""

from __future__ import annotations

import numpy as np
from scipy.optimize import brentq


def stretched(s: np.ndarray, G: float, trouton: float) -> np.ndarray:
    """Speed, over that at the mouth, of a thread (trouton = 6) or a sheet (8) at the share s of its height.

    Without inertia: U = U₁ cos²(c (1 - s)), U₁ = G/(k c²), cos c = c √(k/G), where k is `trouton`, G = g H²/(ν U₀).
    """
    c = brentq(lambda c: np.cos(c) - c * np.sqrt(trouton / G), 1e-9, 0.5 * np.pi)
    return G / (trouton * c**2) * np.cos(c * (1.0 - s)) ** 2
