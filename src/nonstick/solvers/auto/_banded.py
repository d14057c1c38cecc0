"""Policy iteration on a band matrix, whole in one kernel."""

from ...kernels import serial


@serial
def _iterate_banded(x, g, policy, lu, band, b, lower, upper, d, slack, limit):
    """Solve for a policy, decide again, until it stays; x and g = A x - b of the last one. The number of solves.

    `band[i, w + k]` is A[i, i + k], and `lu` has room for as much. A row keeps its policy if it is nearer to a tie than
    `slack`. -1 if a pivot is not positive, `limit` + 1 if the policy still changes.
    """
    n, whole = band.shape
    w = whole // 2
    for count in range(1, limit + 1):
        for i in range(n):
            if policy[i] == 0:
                for k in range(whole):
                    lu[i, k] = band[i, k]
                x[i] = b[i]
            else:
                for k in range(whole):
                    lu[i, k] = 0.0
                lu[i, w] = 1.0
                x[i] = lower[i] if policy[i] < 0 else upper[i]
        for i in range(n):
            pivot = lu[i, w]
            if not pivot > 0.0:
                return -1
            pivot = 1.0 / pivot
            lu[i, w] = pivot
            for j in range(i + 1, min(i + w + 1, n)):
                factor = lu[j, w + i - j]
                if factor != 0.0:
                    factor *= pivot
                    for k in range(1, w + 1):
                        lu[j, w + i - j + k] -= factor * lu[i, w + k]
                    x[j] -= factor * x[i]
        for i in range(n - 1, -1, -1):
            s = x[i]
            for k in range(1, min(w, n - 1 - i) + 1):
                s -= lu[i, w + k] * x[i + k]
            x[i] = s * lu[i, w]
        changes = 0
        for i in range(n):
            s = -b[i]
            for k in range(max(-w, -i), min(w, n - 1 - i) + 1):
                s += band[i, w + k] * x[i + k]
            g[i] = s
            below, above = d[i] * (x[i] - lower[i]), d[i] * (x[i] - upper[i])
            new = 0
            if below < s - slack or (policy[i] < 0 and below < s + slack):
                new = -1
            elif above > s + slack or (policy[i] > 0 and above > s - slack):
                new = 1
            if new != policy[i]:
                changes += 1
                policy[i] = new
        if changes == 0:
            return count
    return limit + 1
