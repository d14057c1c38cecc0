"""Sequential impulses for contacts of rigid bodies, in three dimensions; 2D bodies lie in the plane z = 0.

A contact c pushes body a[c] along n[c] and body b[c] against it (-1: a partner that impulses do not move; its velocity
at the contact is in drift). Unknown impulses lam[c] = (normal, two tangents) obey

    0 ≤ lam_n ≤ cap,  (u_n - target) complementary to it;  |lam_t| ≤ mu lam_n, opposing sliding

and are found by projected Gauss–Seidel sweeps, forwards and backwards in turn, so that impulses spread through a stack
in both directions.
"""

import numpy as np

from ..kernels import serial


@serial
def _cross_into(out, a, b):
    out[0] = a[1] * b[2] - a[2] * b[1]
    out[1] = a[2] * b[0] - a[0] * b[2]
    out[2] = a[0] * b[1] - a[1] * b[0]


@serial
def _give(inverse, inertia, k, r, d, work, turn):
    """The velocity along d at arm r that one unit of impulse along d gives to body k; turn = I⁻¹(r × d)."""
    _cross_into(work, r, d)
    total = inverse[k]
    for i in range(3):
        turn[i] = inertia[k, i, 0] * work[0] + inertia[k, i, 1] * work[1] + inertia[k, i, 2] * work[2]
        total += work[i] * turn[i]
    return total


@serial
def _approach(velocity, spin, ka, kb, arm_a, arm_b, d, drift, work):
    """Velocity of a relative to b along d at a contact."""
    u = -(d[0] * drift[0] + d[1] * drift[1] + d[2] * drift[2])
    if ka >= 0:
        _cross_into(work, spin[ka], arm_a)
        for j in range(3):
            u += d[j] * (velocity[ka, j] + work[j])
    if kb >= 0:
        _cross_into(work, spin[kb], arm_b)
        for j in range(3):
            u -= d[j] * (velocity[kb, j] + work[j])
    return u


@serial
def _push(velocity, spin, inverse, ka, kb, d, turn_a, turn_b, impulse):
    for j in range(3):
        if ka >= 0:
            velocity[ka, j] += impulse * inverse[ka] * d[j]
            spin[ka, j] += impulse * turn_a[j]
        if kb >= 0:
            velocity[kb, j] -= impulse * inverse[kb] * d[j]
            spin[kb, j] -= impulse * turn_b[j]


@serial
def _contact_impulses(
    lam, velocity, spin, inverse, inertia, a, b, arm_a, arm_b, frame, drift, mu, target, cap, sweeps, tolerance
):
    """Sweeps until no velocity changes by more than `tolerance`; lam, velocity and spin in place.

    frame[c] holds the normal and two tangents as rows. The velocities must already contain the impulses
    lam. Returns the number of sweeps.
    """
    n = a.size
    work, new = np.empty(3), np.empty(3)
    # velocity along row i of a unit impulse along it, and the spins it gives
    gain = np.zeros((n, 3))
    turn_a, turn_b = np.zeros((n, 3, 3)), np.zeros((n, 3, 3))
    for c in range(n):
        for i in range(3):
            if a[c] >= 0:
                gain[c, i] += _give(inverse, inertia, a[c], arm_a[c], frame[c, i], work, turn_a[c, i])
            if b[c] >= 0:
                gain[c, i] += _give(inverse, inertia, b[c], arm_b[c], frame[c, i], work, turn_b[c, i])
    for sweep in range(sweeps):
        largest = 0.0
        for at in range(n):
            c = at if sweep % 2 == 0 else n - 1 - at
            ka, kb = a[c], b[c]
            # friction first: the normal impulse is computed last, because it must be exact
            for i in (1, 2):
                u = _approach(velocity, spin, ka, kb, arm_a[c], arm_b[c], frame[c, i], drift[c], work)
                new[i] = lam[c, i] - u / gain[c, i] if gain[c, i] > 0.0 else 0.0
            size = np.sqrt(new[1] * new[1] + new[2] * new[2])
            limit = mu[c] * lam[c, 0]
            if size > limit:
                new[1] *= limit / size
                new[2] *= limit / size
            for i in (1, 2, 0):
                if i == 0:
                    u = _approach(velocity, spin, ka, kb, arm_a[c], arm_b[c], frame[c, 0], drift[c], work)
                    new[0] = lam[c, 0] + (target[c] - u) / gain[c, 0] if gain[c, 0] > 0.0 else 0.0
                    new[0] = min(max(new[0], 0.0), cap[c])
                change = new[i] - lam[c, i]
                if change != 0.0:
                    lam[c, i] = new[i]
                    largest = max(largest, abs(change) * gain[c, i])
                    _push(velocity, spin, inverse, ka, kb, frame[c, i], turn_a[c, i], turn_b[c, i], change)
        if largest <= tolerance:
            return sweep + 1
    return sweeps
