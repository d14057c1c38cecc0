"""Pointwise parts of the full approximation scheme for `N(x) = f`, N the natural residual of a box problem.

`N(x) = max(min(g, d(x - lower)), d(x - upper))` with g = A x - b. For a right-hand side f every bound moves by f/d
and b by f, after which `N(x) = f` is an ordinary box problem in (rhs, low, high).
"""

from ...kernels import parallel, prange, serial


@parallel
def _clip_residual(r, x, low, high, d):
    """r = f - N(x), given r = rhs - A x."""
    for i in prange(r.size):
        r[i] = min(max(r[i], d[i] * (low[i] - x[i])), d[i] * (high[i] - x[i]))


@serial
def _coarse_equation(rhs, low, high, q, restricted, x, b, lower, upper, d):
    """f = N(x) + R r, turned into the box problem (rhs, low, high); q = b - A x."""
    for i in range(rhs.size):
        if d[i] > 0.0:
            f = max(min(-q[i], d[i] * (x[i] - lower[i])), d[i] * (x[i] - upper[i])) + restricted[i]
            rhs[i] = b[i] + f
            low[i] = lower[i] + f / d[i]
            high[i] = upper[i] + f / d[i]


@serial
def _hold(low, high, x, count, total, fine_x, fine_low, fine_high, parent, share):
    """Fix coarse rows if at least the part `share` of their children sits on a bound: low = high = x."""
    count[:] = 0
    for t in range(parent.size):
        if parent[t] >= 0 and (fine_x[t] <= fine_low[t] or fine_x[t] >= fine_high[t]):
            count[parent[t]] += 1
    for c in range(x.size):
        if count[c] > 0 and count[c] >= share * total[c]:
            low[c] = x[c]
            high[c] = x[c]


@serial
def _spread_band(near, indices, indptr):
    """Mark the neighbours of every row marked with the highest number so far; returns the number of new marks."""
    top = near.max()
    count = 0
    for i in range(near.size):
        if near[i] == top:
            for q in range(indptr[i], indptr[i + 1]):
                if near[indices[q]] == 0:
                    near[indices[q]] = top + 1
                    count += 1
    return count


@serial
def _csr_solve(x, b, low, high, d, data, indices, indptr, order, sweeps, rtol):
    """Projected Gauss–Seidel until a sweep changes d·x by less than rtol times the change of the first sweep."""
    first = 0.0
    for sweep in range(sweeps):
        change = 0.0
        for q in range(order.size):
            i = order[q]
            if d[i] > 0.0:
                r = b[i]
                for e in range(indptr[i], indptr[i + 1]):
                    r -= data[e] * x[indices[e]]
                new = min(max(x[i] + r / d[i], low[i]), high[i])
                change = max(change, d[i] * abs(new - x[i]))
                x[i] = new
        if sweep == 0:
            first = change
        if change <= rtol * first:
            break


@serial
def _free_rows(free, x, r, lower, upper):
    """free_i = False if x_i sits on a bound and the residual presses it against the bound."""
    for i in range(x.size):
        free[i] = not ((x[i] <= lower[i] and r[i] < 0.0) or (x[i] >= upper[i] and r[i] > 0.0))


@serial
def _feasible_step(step, x, lower, upper):
    """step = clip(x + step, lower, upper) - x"""
    for i in range(x.size):
        step[i] = min(max(x[i] + step[i], lower[i]), upper[i]) - x[i]


@serial
def _clip(x, lower, upper):
    """x = clip(x, lower, upper)"""
    for i in range(x.size):
        x[i] = min(max(x[i], lower[i]), upper[i])
