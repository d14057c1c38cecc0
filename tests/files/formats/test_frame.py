"""What a frame holds is what the page says."""

import re
from pathlib import Path

import numpy as np
import pytest

from nonstick import NonstickError
from nonstick.files.formats import LAYOUT, Frame, Shot
from nonstick.files.formats.frame import at_points, on_faces
from nonstick.grid.mac import Grid

PAGE = next(Path(__file__).parents[3].joinpath("docs").rglob("export.md"))


def table() -> dict[str, tuple[str, ...]]:
    rows = re.findall(r"^\| `(\w+)` \|([^|]+)\|([^|]+)\|([^|]+)\|", PAGE.read_text(encoding="utf-8"), re.M)
    return {name: tuple(cell.strip() for cell in rest) for name, *rest in rows if name in LAYOUT or rest[0].strip() in (
        "scalar", "particles", "cells", "nodes", "bodies")}  # fmt: skip


def test_the_page_has_the_table():
    assert table().keys() == LAYOUT.keys()
    for name, (where, unit, _) in table().items():
        assert (where, unit) == LAYOUT[name][:2], name


@pytest.mark.parametrize("which", ["splash", "toys", "flat"])
def test_frames_are_as_the_page_says(which, request):
    shot = Shot(request.getfixturevalue(which))
    frame = shot.frame(shot.frames[-1])
    page = table()
    n, d = frame.count, frame.dimension
    grid = shot.grid
    for name, array in frame.arrays.items():
        where = page[name][0]
        expected = {
            "scalar": (), "cells": grid.shape, "nodes": grid.node_shape, "particles": (n,),
            "bodies": (len(shot.bodies),), "m × 2": (array.size // 2, 2),
        }[where]  # fmt: skip
        vector = where in ("particles", "bodies")
        assert array.shape[: 1 if vector else None] == expected, name
    assert frame.arrays["position"].shape == (n, d)
    # axis order and place: liquid cells are where the particles are
    x = frame.arrays["position"] / frame.dx
    cells = tuple(np.minimum(x.astype(int), np.array(grid.shape) - 1).T)
    assert np.mean(frame.arrays["phi"][cells] < 0.3 * frame.dx) > 0.97
    if "phi_solid" in frame.arrays:  # the wall has moved to the right: nodes left of its face are in it
        face = 0.1 + 0.5 * frame.time
        i = int(face / frame.dx)
        assert (frame.arrays["phi_solid"][:i, 5, 5] < 1e-6).all()
        assert frame.arrays["phi_solid"][i + 2, 5, 5] == pytest.approx((i + 2) * frame.dx - face, abs=1e-5)


def test_damage_is_one_sentence():
    grid = Grid((4, 4, 4), 0.1)
    with pytest.raises(NonstickError, match=r"frame 7 is damaged: phi has shape \(3, 4, 4\)"):
        Frame(7, {"phi": np.zeros((3, 4, 4))}, grid)
    with pytest.raises(NonstickError, match="not finite"):
        Frame(7, {"phi": np.full((4, 4, 4), np.nan)}, grid)


def test_ids_are_the_frame_s_own_where_it_has_them():
    x = np.zeros((3, 3), np.float32)
    assert Frame(0, {"position": x}, Grid((4,) * 3, 0.1)).ids.tolist() == [0, 1, 2]
    assert Frame(0, {"position": x, "id": np.array([7, 5, 9])}, Grid((4,) * 3, 0.1)).ids.tolist() == [7, 5, 9]


@pytest.mark.parametrize("most", [50, 80, 5000])
def test_the_order_of_ids(most):
    """All ids there are, some of them, and few of many."""
    ids = np.random.default_rng(0).permutation(most)[:50].astype(np.uint32)
    frame = Frame(0, {"position": np.zeros((50, 3)), "id": ids}, Grid((4,) * 3, 0.1))
    np.testing.assert_array_equal(frame.by_id, np.argsort(ids))
    assert len(Frame(0, {"position": np.zeros((0, 3)), "id": ids[:0]}, Grid((4,) * 3, 0.1)).by_id) == 0


@pytest.mark.parametrize("shape", [(12, 7), (12, 7, 5)], ids=str)
def test_velocity_of_cells_is_the_mean_of_their_particles(shape):
    rng = np.random.default_rng(0)
    d, dx = len(shape), 0.2
    x = (rng.random((400, d)) * (3, *shape[1:]) * dx).astype(np.float32)  # in the first three layers of cells
    v = rng.normal(size=(400, d)).astype(np.float32)
    field = Frame(0, {"position": x, "velocity": v}, Grid(shape, dx)).cell_velocity
    cells = (x / np.float32(dx)).astype(int)
    one = tuple(cells[0])
    inside = (cells == cells[0]).all(axis=1)
    assert field[(slice(None), *one)] == pytest.approx(v[inside].mean(axis=0), abs=1e-5)
    assert (field[:, :6] != 0.0).all()  # and continued by three more
    assert (field[:, 6:] == 0.0).all()


def test_a_linear_field_is_read_back_exactly():
    grid = Grid((8, 6, 5), 0.5)
    field = np.stack(np.broadcast_arrays(*(2 * c for c in grid.cells()))).astype(np.float32)
    points = np.random.default_rng(1).uniform(0.3, 2.2, (50, 3))
    assert at_points(field, points, grid.dx) == pytest.approx(2 * points, abs=1e-5)
    faces = on_faces(field)
    assert faces[1][3, 4, 2] == pytest.approx(2 * 4 * grid.dx)  # the lower face of cell 4 along y


def test_heat_is_refused(tmp_path):
    (tmp_path / "meta.json").write_text("{}")
    (tmp_path / "scene.toml").write_text('kind = "heat"\n[domain]\nsize = [1.0, 1.0, 1.0]\nresolution = 8\n')
    with pytest.raises(NonstickError, match="a run of heat"):
        Shot(tmp_path)
