"""The shift that makes a level set enclose a volume, and how far it may go."""

import numpy as np
import pytest

from nonstick import Scene, Simulation
from nonstick.sim.liquid.accounts import LIMIT, shift_for, volume


@pytest.mark.parametrize("height", [6.0, 6.3, 6.5])
@pytest.mark.parametrize("guess", [-LIMIT, -0.3, 0.0, 0.4])
@pytest.mark.parametrize("change", [-0.4, -0.05, 0.0, 0.1, 0.6])
def test_shift_encloses_the_target(height, guess, change):
    """A flat surface, also on the border of two layers of cells, where a small shift of a rough one changes little."""
    phi = np.broadcast_to(np.arange(12) + 0.5 - height, (3, 5, 12)).copy()
    phi = np.where(np.abs(phi) > 0.6, np.sign(phi) * 1.5, phi)  # distances are kept near the surface only
    space = np.ones(phi.shape)
    target = volume(phi, space) + 15 * change
    shift = shift_for(phi, space, target, guess)
    reachable = volume(phi, space, LIMIT) <= target <= volume(phi, space, -LIMIT)
    assert abs(shift) <= LIMIT
    if reachable:
        assert volume(phi, space, shift) == pytest.approx(target, rel=1e-4)
    else:
        assert abs(shift) == LIMIT


def test_nothing_is_shifted_without_liquid():
    assert shift_for(np.full((1, 4, 4), 1.5), np.ones((1, 4, 4)), 0.0, 0.3) == 0.0


def test_a_slab_that_leaves_the_ceiling_and_lands_keeps_its_volume():
    """The gap that opens is not counted, though the cells along the ceiling are liquid to the pressure for a while."""
    simulation = Simulation(Scene.load("ceiling", {"domain.resolution": 12}))
    for _ in range(45):
        for row in simulation.next_frame():
            assert abs(row["volume_error"]) < 0.01
        if simulation.time < 0.45:  # in flight: nothing to correct but the grain of the particles
            assert abs(simulation.liquid.ledger.offset) < 0.15
