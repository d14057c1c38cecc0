"""Pictures show the surface that pages and exported files have: that of the particles."""

import numpy as np
import pytest
from scipy.ndimage import map_coordinates

from nonstick import NonstickError, Scene
from nonstick.files.formats import Shot, liquid_mesh
from nonstick.files.formats.surface import continued, samples_of_pictures
from nonstick.files.rundir import RunDirectory
from nonstick.scenes.tables import Camera
from nonstick.sim.liquid.preview import Painter
from nonstick.sim.run.loop import new_meta

N = 16


@pytest.fixture(params=[True, False], ids=["with φ", "without φ"])
def thread(request, tmp_path):
    """A run with one frame: a thread of liquid one cell thick, which the level set of the grid does not show."""
    scene = Scene({"domain": {"size": [1.0] * 3, "resolution": N}, "camera": {"width": 96, "height": 96}})
    made = RunDirectory.create(tmp_path / "run", scene.to_toml(), new_meta(scene))
    at = (np.arange(2 * N) + 0.5) / (2 * N)
    x = np.stack(np.meshgrid(at[N : N + 2], at[4:-4], at[N : N + 2], indexing="ij"), axis=-1).reshape(-1, 3)
    frame = {"position": x.astype(np.float32)}
    if request.param:
        frame["phi"] = np.full((N,) * 3, 0.5 / N, np.float32)
    made.write_frame(0, frame)
    return made.path


def blue(path, surface):
    image = Painter(path, Camera(width=96, height=96, surface=surface)).paint(0).astype(int)
    return (image[..., 2] > image[..., 0] + 30).sum()


def test_a_thread_is_seen(thread):
    assert blue(thread, "particles") > 100
    if "phi" in RunDirectory.open(thread).read_frame(0):
        assert blue(thread, "grid") == 0
    else:
        with pytest.raises(NonstickError, match="no surface to render"):
            blue(thread, "grid")


def test_it_is_the_surface_of_exported_meshes(thread):
    shot = Shot(thread)
    frame, refine = shot.frame(0), samples_of_pictures(shot.grid)
    vertices = liquid_mesh(shot, frame, "particles", refine).vertices
    phi = continued(shot, frame, "particles", refine)
    assert phi.shape == (refine * N,) * 3
    here = map_coordinates(phi, (vertices * N * refine - 0.5).T, order=1)
    assert len(vertices) > 100 and np.abs(here).max() < 0.02 / N
