#!/bin/sh
# An environment for many ranks: Debian's python3 with its mpi4py and petsc4py, and nonstick. As root it installs them.
# On a cluster use its own modules instead: docs/how-to/cluster.md.
set -eu
folder=$1
need="python3-mpi4py python3-petsc4py openmpi-bin python3-venv"
if ! dpkg -s $need >/dev/null 2>&1; then
    if ! command -v apt-get >/dev/null || [ "$(id -u)" != 0 ]; then
        echo "make mpi needs $need: on Debian install them as root, elsewhere see docs/how-to/cluster.md" >&2
        exit 1
    fi
    echo "installing Debian's $need (about 500 MB) ..."
    apt-get update -qq || true
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $need >/dev/null
fi
[ -x "$folder/bin/python" ] || /usr/bin/python3 -m venv --system-site-packages "$folder"
echo "installing nonstick into $folder ..."
"$folder/bin/python" -m pip install -qq --disable-pip-version-check 'numpy<2' pytest --editable .
