"""Files of runs for other programs: OpenVDB, USD, ParaView, PLY, OBJ and glTF."""

from .formats import FORMATS, Options
from .frame import LAYOUT, Frame
from .mesh import TriangleMesh
from .run import Exporter, export, write_frame
from .shot import Shot
from .surface import liquid_mesh

__all__ = [
    "FORMATS",
    "LAYOUT",
    "Exporter",
    "Frame",
    "Options",
    "Shot",
    "TriangleMesh",
    "export",
    "liquid_mesh",
    "write_frame",
]

#: the name of `TriangleMesh` in version 0.1
Mesh = TriangleMesh
