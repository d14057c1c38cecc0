"""Fields and numbers that are no fields and numbers: one sentence that names the argument."""

import numpy as np
import pytest

import nonstick
from nonstick.discretise import StokesProblem
from nonstick.discretise.fields import liquid_volumes

PHI = -np.ones((3, 3))
FACES = np.zeros((4, 3)), np.zeros((3, 4))
PRESSURE = {"phi_liquid": PHI, "velocity": FACES, "dt": 0.1, "dx": 0.1}
VISCOSITY = {**PRESSURE, "viscosity": 1.0}
DIFFUSION = {"temperature": PHI, "alpha": 1.0}
RAGGED = [[1.0, 2.0], [1.0]]


@pytest.mark.parametrize(
    ("kind", "given", "change", "says"),
    [
        (nonstick.PressureProblem, PRESSURE, {"velocity": 3.0}, "velocity must be a tuple"),
        (nonstick.PressureProblem, PRESSURE, {"velocity": (RAGGED, FACES[1])}, "velocity\\[0\\] must hold numbers"),
        (nonstick.PressureProblem, PRESSURE, {"phi_liquid": "x"}, "phi_liquid must hold numbers"),
        (nonstick.PressureProblem, PRESSURE, {"dx": 1e-200}, "dt/\\(rho dx²\\) is too large"),
        (nonstick.PressureProblem, PRESSURE, {"dx": 1e200}, "dt/\\(rho dx²\\) is too small"),
        (nonstick.PressureProblem, PRESSURE, {"rho": np.zeros(50)}, "rho must be a positive number"),
        (nonstick.PressureProblem, PRESSURE, {"source": "x"}, "source must hold numbers"),
        (nonstick.PressureProblem, PRESSURE, {"bodies": 3}, "bodies must be a list"),
        (nonstick.PressureProblem, PRESSURE, {"bodies": [3.0]}, "bodies must be a list"),
        (StokesProblem, VISCOSITY, {"bodies": 3}, "bodies must be a list"),
        (StokesProblem, VISCOSITY, {"bodies": [None]}, "bodies must be a list"),
        (StokesProblem, VISCOSITY, {"velocity": 3.0}, "velocity must be a tuple"),
        (StokesProblem, VISCOSITY, {"viscosity": {}}, "viscosity must hold numbers"),
        (StokesProblem, VISCOSITY, {"viscosity": -1.0}, "viscosity must be"),
        (StokesProblem, VISCOSITY, {"phi_solid": "x"}, "phi_solid must hold numbers"),
        (StokesProblem, VISCOSITY, {"dx": 1e-200}, "dt/\\(rho dx²\\) is too large"),
        (StokesProblem, VISCOSITY, {"rho": "x"}, "rho must be"),
        (StokesProblem, VISCOSITY, {"dt": np.nan}, "dt must be"),
        (nonstick.PressureProblem, PRESSURE, {"velocty": FACES}, "did you mean 'velocity'"),
        (nonstick.ViscosityProblem, VISCOSITY, {"velocity": (1j * FACES[0], FACES[1])}, "velocity\\[0\\] is complex"),
        (nonstick.ViscosityProblem, VISCOSITY, {"viscosity": {}}, "viscosity must hold numbers"),
        (nonstick.ViscosityProblem, VISCOSITY, {"dx": 1e-200}, "dt/\\(rho dx²\\) is too large"),
        (nonstick.ViscosityProblem, VISCOSITY, {"fluid": True}, "fluid must be a tuple"),
        (nonstick.DiffusionProblem, DIFFUSION, {"alpha": None}, "alpha must be a positive number"),
        (nonstick.DiffusionProblem, DIFFUSION, {"temperature": "x"}, "temperature must hold numbers"),
        (nonstick.DiffusionProblem, DIFFUSION, {"lower": 10**400}, "lower must hold numbers"),
    ],
)
def test_a_wrong_field_is_named(kind, given, change, says):
    with pytest.raises(nonstick.NonstickError, match=says) as error:
        kind(**{**given, **change})
    assert "\n" not in str(error.value) and len(str(error.value)) < 300


def test_an_equilibrium_has_an_infinite_alpha():
    fixed = np.zeros((3, 3), bool)
    fixed[0] = True
    assert nonstick.DiffusionProblem(temperature=PHI, alpha=np.inf, fixed=fixed).solve().converged


def test_a_method_that_is_none_is_refused_in_one_line():
    problem = nonstick.PressureProblem(**PRESSURE)
    for option in ({"method": np.zeros(90)}, {"criterion": np.zeros(90)}, {"x0": RAGGED}, {"active": RAGGED}):
        with pytest.raises(nonstick.NonstickError) as error:
            problem.solve(**option)
        assert "\n" not in str(error.value) and len(str(error.value)) < 300


@pytest.mark.parametrize("scale", [1e-300, 1e-150, 1e150, 1e300])
def test_fractions_do_not_depend_on_the_units_of_the_level_set(scale):
    phi = np.random.default_rng(1).standard_normal((4, 3, 3))
    faces, cells, edges = liquid_volumes(phi)
    others, again, _ = liquid_volumes(scale * phi)
    np.testing.assert_allclose(again, cells, rtol=1e-12, atol=1e-12)
    for one, other in zip(faces, others, strict=True):
        np.testing.assert_allclose(other, one, rtol=1e-12, atol=1e-12)


def test_a_strength_may_be_a_mask():
    walls = np.ones((3, 3), bool)
    as_mask, as_numbers = (nonstick.PressureProblem(**PRESSURE, adhesion=a) for a in (walls, walls.astype(float)))
    np.testing.assert_array_equal(as_mask.problem.box.lower, as_numbers.problem.box.lower)
