"""The worked pages show the programs of examples/, and these reach published values. (That a page runs is tested with
all other pages.)"""

import importlib

import numpy as np
import pages
import pytest
from scipy.integrate import quad
from scipy.optimize import brentq

PAGES = {
    "bearing": "bearing", "torsion": "torsion", "triangles": "triangles", "american-put": "american_put",
    "cavitation": "cavitation", "contact": "contact",
}  # fmt: skip


@pytest.fixture(autouse=True)
def folder(monkeypatch):
    monkeypatch.syspath_prepend(str(pages.ROOT / "examples"))


@pytest.mark.parametrize("page", PAGES)
def test_the_page_shows_the_program(page):
    shown = {block.file: block.text for block in pages.blocks(pages.ROOT / "docs" / "how-to" / f"{page}.md")}
    program = pages.ROOT / "examples" / f"{PAGES[page]}.py"
    assert shown[program.name] == program.read_text(encoding="utf-8")


@pytest.mark.parametrize("eccentricity, ratio, load, angle", [(0.5, 1.0, 0.8903, 56.705), (0.5, 0.5, 0.3124, 54.993)])
def test_bearing_of_butenschoen(eccentricity, ratio, load, angle):
    found = importlib.import_module("bearing").main(eccentricity, ratio, n=120)
    np.testing.assert_allclose(found, (load, angle), rtol=2e-3)


@pytest.mark.parametrize("points, energy", [(10, -0.40570), (32, -0.41740), (100, -0.41839)])
def test_torsion_of_cutest(points, energy):
    assert round(importlib.import_module("torsion").main(n=points)[0], 5) == pytest.approx(energy, abs=1.1e-5)


def test_triangles_reach_the_exact_membrane():
    triangles = importlib.import_module("triangles")
    coarse, fine = triangles.main(24), triangles.main(48)
    assert abs(fine[0] - triangles.HEIGHT) < 1e-3 and abs(fine[1] - triangles.CONTACT) < 0.05
    assert fine[2] < 0.4 * coarse[2]  # second order would be a quarter


def test_contact_of_hertz():
    pytest.importorskip("skfem")
    np.testing.assert_allclose(importlib.import_module("contact").main(fine=8), 1.0, atol=0.02)


def test_american_put_to_four_digits():
    assert f"{importlib.import_module('american_put').main():.3f}" == "4.487"  # QuantLib: 4.48667


def test_cavitation_against_quadrature():
    """The flooded film by hand: p rises from 0 at the groove, and p and p' vanish where the film breaks."""
    e = 0.6

    def pressure(angle, rupture):
        def h(t):
            return 1 + e * np.cos(t)

        return quad(lambda t: 6 * (h(t) - h(rupture)) / h(t) ** 3, 0.0, angle)[0]

    rupture = brentq(lambda angle: pressure(angle, angle), np.pi + 0.1, 1.5 * np.pi)
    radial = -quad(lambda t: pressure(t, rupture) * np.cos(t), 0.0, rupture, epsabs=1e-6)[0]
    tangential = quad(lambda t: pressure(t, rupture) * np.sin(t), 0.0, rupture, epsabs=1e-6)[0]
    exact = np.pi * (1 + e * np.cos(rupture)), 1 / (np.pi * np.hypot(radial, tangential))
    inflow, load, angle = importlib.import_module("cavitation").main(e, n=720)
    np.testing.assert_allclose((inflow, load), exact, rtol=2e-3)
    np.testing.assert_allclose(angle, np.degrees(np.arctan2(tangential, radial)), atol=0.1)
    np.testing.assert_allclose((inflow, load), (1.56, 0.0389), rtol=3e-3)  # Raimondi and Boyd


def test_oil_is_conserved():
    cavitation = importlib.import_module("cavitation")
    theta, p, filled = cavitation.film(0.6, 1.4, 360)
    assert p.max() > 0 and filled.max() <= 1 + 1e-9 and filled.min() > 0
    h = 1 + 0.6 * np.cos(theta + np.pi / 360)
    flow = h * filled - h**3 * np.diff(p, append=0.0) / (12 * np.pi / 360)
    np.testing.assert_allclose(flow, 1.4 / np.pi, rtol=1e-6)
