"""Run by pvpython: what ParaView reads from an exported folder, as JSON, and a screenshot.

paraview_report.py FOLDER [PICTURE.png]
"""

import json
import os
import sys

from paraview.simple import (
    ColorBy,
    CreateView,
    GetAnimationScene,
    GetDisplayProperties,
    PVDReader,
    Render,
    ResetCamera,
    SaveScreenshot,
    Show,
)

folder = sys.argv[1]
facts, readers = {}, {}
for name in ("surface", "particles", "fields", "solids"):
    file = os.path.join(folder, f"{name}.pvd")
    if not os.path.isfile(file):
        continue
    reader = readers[name] = PVDReader(FileName=file)
    reader.UpdatePipelineInformation()
    times = list(reader.TimestepValues) if hasattr(reader.TimestepValues, "__len__") else [reader.TimestepValues]
    steps = []
    for time in times:
        reader.UpdatePipeline(time)
        info = reader.GetDataInformation()
        ranges = {}
        for kind, data in (("point", reader.PointData), ("cell", reader.CellData)):
            for k in range(data.GetNumberOfArrays()):
                array = data.GetArray(k)
                n = array.GetNumberOfComponents()
                ranges[f"{kind}:{array.Name}"] = [list(array.GetRange(c)) for c in range(n)]
        steps.append(
            {
                "bounds": list(info.GetBounds()),
                "points": info.GetNumberOfPoints(),
                "cells": info.GetNumberOfCells(),
                "ranges": ranges,
            }
        )
    facts[name] = {"times": times, "steps": steps}
if len(sys.argv) > 2:
    view = CreateView("RenderView")
    view.ViewSize = [500, 500]
    last = facts["surface"]["times"][-1]
    GetAnimationScene().AnimationTime = last
    view.ViewTime = last
    Show(readers["surface"], view)
    ColorBy(GetDisplayProperties(readers["surface"], view), ("POINTS", "velocity", "Magnitude"))
    if "solids" in readers:
        Show(readers["solids"], view)
        GetDisplayProperties(readers["solids"], view).Opacity = 0.15
    ResetCamera(view)
    camera = view.GetActiveCamera()
    camera.Elevation(15)
    camera.Azimuth(30)
    Render(view)
    SaveScreenshot(sys.argv[2], view)
print(json.dumps(facts))
