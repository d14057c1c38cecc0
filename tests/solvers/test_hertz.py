"""Contact against Hertz's theory: a cylinder and a sphere pressed onto a rigid plane, which alone holds them."""

import numpy as np
import pytest
from gallery import hertz

import nonstick


@pytest.mark.parametrize("d, fine, far", [(2, 10, 20.0), pytest.param(3, 4, 6.0, marks=pytest.mark.slow)])
def test_pressure_and_radius_of_the_contact(d, fine, far):
    A, b, lower, upper, distance, area, rows, (load, a) = hertz(fine, d, far=far)
    solution = nonstick.solve(A, b, lower, upper, rtol=1e-8)
    assert solution.success, solution
    force = solution.dual[rows]
    assert force.sum() == pytest.approx(load / 2 ** (d - 1), rel=1e-6) and (force > -1e-9 * load).all()
    inside = distance < 0.9 * a
    fit = np.stack([np.ones(inside.sum()), -(distance[inside] ** 2)], axis=1)
    c, slope = np.linalg.lstsq(fit, (force / area)[inside] ** 2, rcond=None)[0]  # p² = p0² (1 - r²/a²)
    peak = 2 * load / (np.pi * a) if d == 2 else 3 * load / (2 * np.pi * a**2)
    assert np.sqrt(c) == pytest.approx(peak, rel=0.02) and np.sqrt(c / slope) == pytest.approx(a, rel=0.02)
    assert not solution.active[rows][distance > 1.3 * a].any()
