"""Run by a Python with bpy, or by `blender --background --python`: what Blender reads from exported files, as JSON.

blender_report.py FILE…    bounds (in Blender's axes), sizes and attributes of what each file brings in, frame by frame
"""

import json
import sys

import bpy


def bounds(objects):
    graph = bpy.context.evaluated_depsgraph_get()
    points = [
        obj.evaluated_get(graph).matrix_world @ v.co
        for obj in objects
        if obj.type == "MESH"
        for v in obj.evaluated_get(graph).to_mesh().vertices
    ]
    if not points:
        return None
    return [[f(p[a] for p in points) for a in range(3)] for f in (min, max)]


def report(file, frames):
    bpy.ops.wm.read_factory_settings(use_empty=True)
    out = {}
    if file.endswith(".vdb"):
        bpy.ops.object.volume_import(filepath=file)
        volume = bpy.context.object.data
        volume.grids.load()
        out["error"] = volume.grids.error_message
        out["grids"] = {g.name: g.data_type for g in volume.grids}
        box = bpy.context.object.bound_box
        out["box"] = [[f(c[a] for c in box) for a in range(3)] for f in (min, max)]
        return out
    if file.endswith(".ply"):
        bpy.ops.wm.ply_import(filepath=file)
    elif file.endswith(".obj"):
        bpy.ops.wm.obj_import(filepath=file)
    elif file.endswith(".glb"):
        bpy.ops.import_scene.gltf(filepath=file)
    else:
        bpy.ops.wm.usd_import(filepath=file)
    names = sorted(o.name for o in bpy.context.scene.objects)
    out["objects"] = {n: bpy.data.objects[n].type for n in names}
    out["frames"] = {}
    for frame in frames:
        bpy.context.scene.frame_set(frame)
        liquid = [bpy.data.objects[n] for n in names if n.startswith("liquid") or len(names) == 1]
        graph = bpy.context.evaluated_depsgraph_get()
        entry = {"liquid": bounds(liquid)}
        for obj in liquid:
            mesh = obj.evaluated_get(graph).to_mesh()
            entry["vertices"] = len(mesh.vertices)
            entry["attributes"] = sorted(a.name for a in mesh.attributes)
        entry["places"] = {n: [list(row) for row in bpy.data.objects[n].matrix_world] for n in names}
        out["frames"][frame] = entry
    return out


words = sys.argv[sys.argv.index("--") + 1 :] if "--" in sys.argv else sys.argv[1:]
frames = [int(w) for w in words if w.isdigit()] or [0]
print("\n" + json.dumps({f: report(f, frames) for f in words if not f.isdigit()}))
