#!/bin/sh
# PETSc for `make bench-peers`: Debian's python3-petsc4py, beside our .venv and not in it (it wants NumPy 1.x).
# Without it the comparison goes on with the other peers, so this never fails.
have() { dpkg -s python3-petsc4py 2>/dev/null | grep -q '^Status: install ok installed'; }

if ! command -v apt-get >/dev/null 2>&1; then
    echo "PETSc is left out: this system has no apt-get to install python3-petsc4py with."
elif have; then
    echo "PETSc: the system's python3-petsc4py."
elif [ "$(id -u)" -ne 0 ]; then
    echo "PETSc is left out: installing it needs root (apt-get install python3-petsc4py)."
else
    echo "installing Debian's python3-petsc4py (PETSc, Open MPI, hypre; about 500 MB) ..."
    apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
        python3-petsc4py >/dev/null 2>&1
    have || echo "PETSc is left out: apt-get could not install python3-petsc4py."
fi
exit 0
