"""One run on many ranks of MPI, or on one: communication, the cut of a grid into boxes, ghost layers.

    comm        `world()`: all ranks, or `SELF`, one process alone; sums in a fixed order, maxima, errors of all ranks
    boxes       a grid cut into one box per rank, by liquid cells and not by volume
    halo        ghost layers of padded arrays over cells, faces and nodes
    components  connected parts that reach over several boxes
    launch      `--ranks N`, and how all ranks end

mpi4py and petsc4py are imported by `ranks` alone, and only if there is more than one rank. Nothing is imported by
importing this package.
"""
