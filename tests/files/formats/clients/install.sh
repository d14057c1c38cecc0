#!/bin/sh
# The programs that read exported files, and a browser for pages, for `make test-clients`: Debian's as root, Blender's module into .venv.
# What cannot be installed is said; its tests are then skipped and say so too.
set -u
python=${1:-.venv/bin/python}
"$python" -m pip install -qq --disable-pip-version-check 'bpy==4.5.*' 2>/dev/null ||
    echo "note: no bpy 4.5 for this Python (it needs 3.11); tests with Blender are skipped"
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    apt-get install -qq -y --no-install-recommends python3-openvdb python3-paraview paraview xvfb xauth >/dev/null ||
        echo "note: apt-get cannot install python3-openvdb and paraview; their tests are skipped"
    command -v chromium >/dev/null || apt-get install -qq -y --no-install-recommends chromium >/dev/null ||
        echo "note: apt-get cannot install chromium; tests of pages in a browser are skipped"
else
    echo "note: OpenVDB, ParaView and Chromium are installed as root (apt-get install python3-openvdb paraview xvfb chromium)"
fi
