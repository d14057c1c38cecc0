"""Small runs, made once, and a browser."""

import browser
import pytest

from nonstick import Scene
from nonstick.sim.run.loop import run


@pytest.fixture(scope="session")
def splash(tmp_path_factory):
    """Liquid thrown about in a ball."""
    out = tmp_path_factory.mktemp("view") / "splash"
    run(Scene.load("sphere", {"domain.resolution": 16, "time.frames": 6, "time.fps": 12}), out)
    return out


@pytest.fixture(scope="session")
def plane(tmp_path_factory):
    """A 2D run."""
    out = tmp_path_factory.mktemp("view") / "plane"
    run(Scene.load("circle", {"domain.resolution": 24, "time.frames": 4, "time.fps": 12}), out)
    return out


@pytest.fixture(scope="session")
def toys(tmp_path_factory):
    """A wall that moves, a body, and two viscosities, one of which comes from an inflow."""
    out = tmp_path_factory.mktemp("view") / "toys"
    scene = Scene(
        {
            "name": "toys",
            "domain": {"size": [1.0, 0.75, 0.5], "resolution": 16},
            "time": {"frames": 3, "fps": 12},
            "physics": {"viscosity": 1.0},
            "liquid": [{"shape": {"type": "box", "low": [0, 0, 0], "high": [1.0, 0.3, 0.5]}, "viscosity": 2.0}],
            "inflow": [
                {
                    "shape": {"type": "box", "low": [0.4, 0.6, 0.15], "high": [0.6, 0.75, 0.35]},
                    "velocity": [0.0, -1.0, 0.0],
                    "viscosity": 50.0,
                }
            ],
            "solid": [
                {
                    "shape": {"type": "box", "low": [-0.3, 0.0, 0.0], "high": [0.1, 0.75, 0.5]},
                    "motion": {"velocity": [0.5, 0.0, 0.0]},
                }
            ],
            "bodies": [{"shape": {"type": "ball", "centre": [0.7, 0.5, 0.25], "radius": 0.1}, "density": 500.0}],
            "output": {"pressure": True},
        }
    )
    run(scene, out)
    return out


@pytest.fixture(scope="session")
def window():
    """A browser; tests that need one are skipped where there is none."""
    reason = browser.missing()
    if reason:
        pytest.skip(reason)
    with browser.opened() as opened:
        yield opened


@pytest.fixture
def tab(window):
    """A tab of a browser."""
    page = window.new_page()
    yield browser.Tab(page)
    page.close()
