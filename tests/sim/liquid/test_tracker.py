"""One step over two ways to carry the liquid; what the stages tell each other are arguments and results."""

import numpy as np
import pytest

from nonstick import NonstickError, Scene, Simulation
from nonstick.sim.liquid.particles.tracker import Particles
from nonstick.sim.liquid.stats import STAGES
from nonstick.sim.liquid.step import Liquid
from nonstick.sim.liquid.surface.levelset import LevelSet

POOL = {"shape": {"type": "box", "low": [0.0, 0.0], "high": [1.0, 0.5]}}


def tank(**more):
    return Scene({"domain": {"size": [1.0, 1.0], "resolution": 20}, **more})


@pytest.mark.parametrize("tracker", [Particles, LevelSet])
def test_the_same_step_moves_either(tracker):
    drop = {"shape": {"type": "ball", "centre": [0.5, 0.6], "radius": 0.25}}
    liquid = Liquid(tank(liquid=[drop]), tracker)
    assert isinstance(liquid.tracker, tracker)
    start = liquid.energy()
    for _ in range(6):
        report = liquid.step(1 / 60)
    liquid.update_surface()
    # free fall: speed g t, and what height loses motion gains
    kinetic, potential = liquid.energy()
    # velocities belong to the middle of the last step
    assert liquid.max_speed() == pytest.approx(0.981 * 5.5 / 6, rel=1e-5 if tracker is Particles else 0.02)
    assert kinetic - start[0] == pytest.approx(start[1] - potential, rel=0.25)
    assert set(report.seconds) == set(STAGES) and report.viscosity is None and not report.remarks
    assert abs(liquid.ledger.error) < 0.01


@pytest.mark.parametrize("track", ["particles", "grid"])
def test_an_outflow_empties_either_before_the_frame_is_written(track):
    drain = {"shape": {"type": "box", "low": [0.0, 0.0], "high": [0.3, 1.0]}}
    simulation = Simulation(tank(liquid=[POOL], outflow=[drain], surface={"track": track}))
    simulation.next_frame()
    position = simulation.frame_arrays()["position"]
    assert position[:, 0].min() > 0.3 - 0.5 * simulation.scene.dx
    ledger = simulation.liquid.ledger
    assert ledger.outflow == pytest.approx(0.3 * ledger.initial, rel=0.1)


@pytest.mark.parametrize("track", ["particles", "grid"])
def test_checkpoints_have_these_keys(track):
    simulation = Simulation(tank(liquid=[POOL], surface={"track": track}))
    own = ["x", "vel", "aff", "mu", "id", "born", "dt", "sources", "surface"]
    own = own if track == "particles" else ["level", "velocity1", "velocity2"]
    assert list(simulation.state()) == [*own, "pressure", "active", "steps", "time", "lag", "ledger", "frame"]


@pytest.mark.parametrize("track", ["particles", "grid"])
def test_states_of_older_versions_are_refused(track):
    """Their velocities belong to the end of the last step, or to particles that fell for half a step."""
    scene = tank(liquid=[POOL], surface={"track": track})
    state = Simulation(scene).state()
    fallen = state | {"fall": np.ones(1, np.float32), "added": np.array(0.0)}
    for older in ({k: v for k, v in state.items() if k != "lag"}, fallen):
        with pytest.raises(NonstickError, match="older version of nonstick, whose velocities are of other times"):
            Simulation(scene).restore(older)


@pytest.mark.parametrize("track", ["particles", "grid"])
def test_simulations_that_share_a_state_do_not_share_arrays(track):
    scene = tank(liquid=[POOL], surface={"track": track})
    one, other = Simulation(scene), Simulation(scene)
    one.next_frame()
    other.restore(one.state())
    one.next_frame()
    other.next_frame()
    here, there = one.frame_arrays(), other.frame_arrays()
    assert all(np.array_equal(here[name], there[name]) for name in here)


def test_what_a_source_adds_is_part_of_the_scale_of_the_residual():
    """Under water the liquid around a source gives way; the tolerance is relative to max|b| with that part."""
    source = {"shape": {"type": "box", "low": [0.4, 0.1], "high": [0.6, 0.3]}, "velocity": [0.0, 0.8]}
    simulation = Simulation(tank(liquid=[POOL], inflow=[source], physics={"gravity": [0.0, 0.0]}))
    reports = []
    simulation.watch = reports.append
    for _ in range(4):
        simulation.next_frame()
    added = 0
    for report in reports:
        problem, solution = report.outcome.problem, report.outcome.solution
        box, b = problem.problem, problem.rhs
        assert box.scale == np.abs(b).max()
        g, d = problem.matrix @ solution.x - b, problem.matrix.diagonal()
        residual = np.where(problem.constrained, np.minimum(d * solution.x, g), g)
        assert report.outcome.kkt == pytest.approx(np.abs(residual).max() / np.abs(b).max(), rel=1e-3, abs=1e-12)
        added += bool(problem.source is not None and problem.source.any())
        # the liquid in the source expands by what has entered
        after = problem.rows.from_grid(problem.divergence(problem.update(solution.pressure)))
        wanted = problem.rows.from_grid(problem.source)
        free = ~problem.constrained
        np.testing.assert_allclose(after[free], wanted[free], atol=2e-6 * box.scale)
    assert added > 0


def test_a_spinning_liquid_without_particles_leaves_the_others_alone():
    """A liquid that lies in a solid gets no particle, and its rotation goes to none."""
    solid = {"shape": {"type": "box", "low": [0.0, 0.6], "high": [1.0, 1.0]}}
    hidden = {"shape": {"type": "box", "low": [0.3, 0.7], "high": [0.7, 0.9]}, "spin": 90.0}
    simulation = Simulation(tank(liquid=[POOL, hidden], solid=[solid]))
    assert not simulation.liquid.tracker.cloud.aff.any()


@pytest.mark.parametrize("track", ["particles", "grid"])
def test_a_domain_one_cell_high(track):
    scene = {"domain": {"size": [1.0, 0.05], "resolution": 10}, "surface": {"track": track},
             "liquid": [{"shape": {"type": "box", "low": [0.0, 0.0], "high": [0.5, 0.2]}}]}  # fmt: skip
    simulation = Simulation(Scene(scene))
    assert all(row["converged"] for _ in range(2) for row in simulation.next_frame())
