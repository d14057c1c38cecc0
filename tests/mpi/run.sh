#!/bin/sh
# The tests of many ranks: run.sh PYTHON RANKS...; the output is that of rank 0, and of a rank that fails.
set -eu
python=$1
shift
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 NUMBA_NUM_THREADS=1 OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
mpiexec=$(command -v mpiexec.openmpi || command -v mpiexec)
for ranks in "$@"; do
    echo "tests/mpi on $ranks rank(s)"
    if [ "$ranks" = 1 ]; then
        "$python" -m pytest --color=no -p no:cacheprovider tests/mpi
    else
        timeout 600 "$mpiexec" --quiet --oversubscribe -n "$ranks" "$python" -m pytest --color=no -p no:cacheprovider tests/mpi
    fi
done
