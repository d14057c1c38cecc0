"""Run by a Python that has OpenVDB's module: what the real library reads from a file, as .npz and JSON.

openvdb_report.py FILE.vdb OUT.npz LOW SIZE    dense arrays of SIZE³ values of every grid from index LOW (or I,J,K) on
"""

import json
import sys

import numpy as np

try:
    import pyopenvdb as vdb
except ImportError:
    import openvdb as vdb

source, out, size = sys.argv[1], sys.argv[2], int(sys.argv[4])
low = tuple(int(w) for w in sys.argv[3].split(","))
low = low * 3 if len(low) == 1 else low
grids, metadata = vdb.readAll(source)
arrays, facts = {}, {}
for grid in grids:
    vector = isinstance(grid.background, tuple)
    values = np.zeros((size,) * 3 + ((3,) if vector else ()), np.float32)
    grid.copyToArray(values, ijk=low)
    arrays[grid.name] = values
    mask = np.zeros((size,) * 3, bool)
    for item in grid.citerOnValues():
        assert item.min == item.max, "an active tile"
        i, j, k = (c - a for c, a in zip(item.min, low))
        mask[i, j, k] = True
    arrays[f"{grid.name}-active"] = mask
    facts[grid.name] = {
        "class": str(grid.gridClass),
        "background": grid.background,
        "voxel": grid.transform.voxelSize(),
        "origin": grid.transform.indexToWorld((0, 0, 0)),
        "active": grid.activeVoxelCount(),
        "vector": str(grid.metadata.get("vector_type", "")),
    }
    if grid.gridClass == vdb.GridClass.LEVEL_SET:
        points, quads = grid.convertToQuads()
        facts[grid.name]["quads"] = len(quads)
        if len(points):
            facts[grid.name]["bounds"] = [np.min(points, axis=0).tolist(), np.max(points, axis=0).tolist()]
np.savez(out, **arrays)
print(json.dumps({"grids": facts, "metadata": {k: str(v) for k, v in metadata.items()}}))
