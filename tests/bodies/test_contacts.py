"""The contact kernel against a plain twin."""

import numpy as np

from nonstick.bodies._contacts import _contact_impulses


def twin(lam, v, w, inverse, inertia, a, b, ra, rb, frame, drift, mu, target, cap, sweeps):
    """The same sweeps, without early stop, in plain NumPy."""
    lam, v, w = lam.copy(), v.copy(), w.copy()

    def speed(c, i):
        u = -drift[c]
        if a[c] >= 0:
            u = u + v[a[c]] + np.cross(w[a[c]], ra[c])
        if b[c] >= 0:
            u = u - v[b[c]] - np.cross(w[b[c]], rb[c])
        return u @ frame[c, i]

    def gain(c, i):
        total = 0.0
        for k, r in ((a[c], ra[c]), (b[c], rb[c])):
            if k >= 0:
                arm = np.cross(r, frame[c, i])
                total += inverse[k] + arm @ inertia[k] @ arm
        return total

    def push(c, i, amount):
        for k, r, sign in ((a[c], ra[c], 1), (b[c], rb[c], -1)):
            if k >= 0:
                v[k] += sign * amount * inverse[k] * frame[c, i]
                w[k] += sign * amount * inertia[k] @ np.cross(r, frame[c, i])

    for sweep in range(sweeps):
        order = range(len(a)) if sweep % 2 == 0 else reversed(range(len(a)))
        for c in order:
            t = np.array([lam[c, i] - speed(c, i) / gain(c, i) for i in (1, 2)])
            t *= min(1.0, mu[c] * lam[c, 0] / max(np.linalg.norm(t), 1e-300))
            for i in (1, 2):
                push(c, i, t[i - 1] - lam[c, i])
                lam[c, i] = t[i - 1]
            n = np.clip(lam[c, 0] + (target[c] - speed(c, 0)) / gain(c, 0), 0, cap[c])
            push(c, 0, n - lam[c, 0])
            lam[c, 0] = n
    return lam, v, w


def test_kernel_does_what_its_twin_does():
    rng = np.random.default_rng(5)
    nb, nc = 4, 9
    v, w = rng.normal(size=(2, nb, 3))
    inverse = rng.uniform(0.5, 2, nb)
    inertia = np.array([(lambda m: m @ m.T + np.eye(3))(rng.normal(size=(3, 3))) for _ in range(nb)])
    a = rng.integers(0, nb, nc)
    b = np.array([(k + 1 + rng.integers(0, nb - 1)) % nb if rng.random() < 0.6 else -1 for k in a])
    frame = np.array([np.linalg.qr(rng.normal(size=(3, 3)))[0].T for _ in range(nc)])
    ra, rb, drift = rng.normal(size=(3, nc, 3))
    mu, target = rng.uniform(0, 1, nc), rng.uniform(-0.2, 0.5, nc)
    cap = np.where(rng.random(nc) < 0.3, 0.4, np.inf)
    lam = np.zeros((nc, 3))
    expected = twin(lam, v, w, inverse, inertia, a, b, ra, rb, frame, drift, mu, target, cap, 7)
    done = _contact_impulses(
        lam, v, w, inverse, inertia, a, b.astype(np.int64), ra, rb, frame, drift, mu, target, cap, 7, 0.0
    )
    assert done == 7
    for got, want in zip((lam, v, w), expected):
        assert np.allclose(got, want, rtol=1e-9, atol=1e-12)
    assert (lam[:, 0] >= 0).all() and (lam[:, 0] <= cap).all() and (lam[:, 0] > 0).any()
    assert (np.hypot(lam[:, 1], lam[:, 2]) <= mu * lam[:, 0] + 1.0).all()
