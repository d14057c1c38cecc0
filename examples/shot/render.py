"""Renders a frame of an exported shot with Cycles.

python render.py shot.usdc FRAME PICTURE.png                       with Blender's module (pip install bpy)
blender -b -P render.py -- shot.usdc FRAME PICTURE.png             with Blender itself
"""

import math
import sys
from pathlib import Path

import bpy


def main(file, frame=14, picture="shot.png", width=960, height=600, samples=96):
    """Import a `.usdc`, give everything a material, light it and render one frame with motion blur."""
    bpy.ops.wm.read_factory_settings(use_empty=True)
    bpy.ops.wm.usd_import(filepath=str(Path(file).resolve()), import_materials=False)
    scene = bpy.context.scene
    scene.frame_set(frame)
    looks = {
        "liquid": water(),
        "ball": plain("ball", (0.85, 0.18, 0.08), 0.35),
        "solid": plain("solid", (0.93, 0.62, 0.16), 0.45),
    }
    for thing in list(scene.objects):
        if thing.type != "MESH":
            continue
        name = next((n for n in looks if thing.name.startswith(n)), "solid")
        thing.data.materials.clear()
        thing.data.materials.append(looks[name])
        for polygon in thing.data.polygons:
            polygon.use_smooth = True
    stage()
    camera = next((o for o in scene.objects if o.type == "CAMERA"), None)
    scene.camera = camera
    scene.render.engine = "CYCLES"
    scene.cycles.samples = samples
    scene.cycles.use_denoising = True
    scene.cycles.transmission_bounces = 8
    scene.render.use_motion_blur = True
    scene.render.motion_blur_shutter = 0.2
    scene.render.resolution_x, scene.render.resolution_y = width, height
    scene.view_settings.view_transform = "AgX"
    scene.view_settings.look = "AgX - Punchy"
    scene.view_settings.exposure = 0.9
    scene.render.filepath = str(Path(picture).resolve())
    bpy.ops.render.render(write_still=True)


def plain(name, colour, roughness):
    material = bpy.data.materials.new(name)
    material.use_nodes = True
    shader = material.node_tree.nodes["Principled BSDF"]
    shader.inputs["Base Color"].default_value = (*colour, 1.0)
    shader.inputs["Roughness"].default_value = roughness
    return material


def water():
    """Clear, with a little blue where it is deep."""
    material = plain("liquid", (0.86, 0.96, 1.0), 0.0)
    nodes, links = material.node_tree.nodes, material.node_tree.links
    shader = nodes["Principled BSDF"]
    shader.inputs["IOR"].default_value = 1.33
    shader.inputs["Transmission Weight"].default_value = 1.0
    depth = nodes.new("ShaderNodeVolumeAbsorption")
    depth.inputs["Color"].default_value = (0.08, 0.55, 0.75, 1.0)
    depth.inputs["Density"].default_value = 3.0
    links.new(depth.outputs[0], nodes["Material Output"].inputs["Volume"])
    return material


def stage():
    """A floor, a sky and a sun."""
    bpy.ops.mesh.primitive_plane_add(size=40, location=(0, 0, -0.002))
    floor = bpy.context.object
    floor.data.materials.append(plain("floor", (0.16, 0.17, 0.19), 0.6))
    bpy.ops.object.light_add(type="SUN", rotation=(math.radians(48), math.radians(12), math.radians(35)))
    bpy.context.object.data.energy = 4.0
    bpy.context.object.data.angle = math.radians(3)
    world = bpy.data.worlds.new("sky")
    bpy.context.scene.world = world
    world.use_nodes = True
    world.node_tree.nodes["Background"].inputs["Color"].default_value = (0.75, 0.85, 1.0, 1.0)
    world.node_tree.nodes["Background"].inputs["Strength"].default_value = 0.55


if __name__ == "__main__":
    words = sys.argv[sys.argv.index("--") + 1 :] if "--" in sys.argv else sys.argv[1:]
    main(words[0], *(int(w) if w.isdigit() else w for w in words[1:]))
