"""Problems with rows of any scale: no answer that says it has converged is off by more than its condition explains.

`NONSTICK_FUZZ=10000` makes a long run and prints how far answers were off (`pytest -s`).
"""

import os
from collections import Counter

import numpy as np
from bounds import seeds
from scaled import EPS, Reference, allowance, explained, natural_residual, problem

import nonstick
from nonstick import registry
from nonstick.core.options import Stopping

GRIDS = ("fmg", "newton-array")  # they need a grid
METHODS = [name for name, entry in registry.entries().items() if entry.complete and not name.startswith(GRIDS)]
#: methods that need cells, and those for large problems: others need thousands of iterations there
GEOMETRIC = ("pi-mg", "pe-mg", "fas-mg", "newton+mg")
STRONG = ("auto", "pi-pcg", "mic-mprgp", "newton")
LONG = "NONSTICK_FUZZ" in os.environ


def attempt(seed: int):
    """One random problem by one random method: what came out, and how far it is off."""
    rng = np.random.default_rng(seed)
    p = problem(rng, 3600 if LONG and rng.random() < 0.2 else 400 if LONG else 120)
    cells = p.cells if rng.random() < 0.7 else None
    names = [m for m in METHODS if cells is not None or not m.startswith(GEOMETRIC)] if p.b.size <= 200 else STRONG
    method = "auto" if rng.random() < 0.4 else str(rng.choice(names))
    rtol = float(rng.choice([1e-4, 1e-6, 1e-6, 1e-8]))
    note = f"seed {seed}: {method}, n = {p.b.size}, {p.what}, rtol {rtol:g}"
    try:
        s = nonstick.solve(p.A, p.b, p.lower, p.upper, method=method, rtol=rtol, cells=cells, time_limit=20.0)
    except nonstick.NonstickError as error:
        assert "positive definite" in str(error), f"{note}: {error}"
        return method, "refused", 0.0, 0.0, note
    if not s.converged:
        return method, s.status, 0.0, 0.0, f"{note}: {s.message}"
    allowed = allowance(p, s.x, Stopping(rtol).row_rtol)
    assert (np.abs(natural_residual(p, s.x)) <= 1.01 * allowed + 4 * EPS * np.abs(p.A) @ np.abs(s.x)).all(), note
    # where rows differ so much that rounding in one hides the others, every row may hold to its last digit only
    assert s.kkt() <= rtol or s.row_error() == 0.0, note
    exact = Reference(p, s.x).x
    off = np.abs(s.x - exact)
    reach = explained(p, allowed) + 1e-12 * np.abs(exact)
    size = np.abs(exact * np.sqrt(p.A.diagonal()))
    relative = float((off * np.sqrt(p.A.diagonal())).max() / (size.max() or 1.0))
    return method, "converged", float((off / np.maximum(reach, 1e-300)).max()), relative, note


def test_converged_answers_are_right():
    ended, worst = Counter(), []
    for seed in seeds(60):
        method, status, ratio, relative, note = attempt(seed)
        ended[status] += 1
        if status == "converged":
            worst.append((ratio, relative, note))
            assert ratio <= 1.0, f"{note}: off by {ratio:.1f} times what its condition explains"
        elif LONG:
            print(note)
    if LONG:
        ratios, relatives = (np.array([line[k] for line in worst]) for k in (0, 1))
        print(dict(ended))
        print("error / explained: quantiles 0.5 0.9 0.99 1:", np.quantile(ratios, [0.5, 0.9, 0.99, 1.0]))
        print(
            "error / largest x: quantiles 0.5 0.9 0.99 0.999 1:", np.quantile(relatives, [0.5, 0.9, 0.99, 0.999, 1.0])
        )
        for line in sorted(worst, key=lambda w: -w[1])[:12]:
            print(f"{line[1]:.1e} {line[0]:.1e} {line[2]}")
    assert ended["converged"] >= 0.8 * sum(ended.values()), ended
