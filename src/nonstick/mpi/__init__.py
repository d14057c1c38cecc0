"""One large problem on many ranks: communication, the cut of a grid into boxes, ghost layers.

    comm      `world()`: all ranks, or one process alone; sums in a fixed order, maxima, errors that all ranks agree on
    boxes     a grid cut into one box per rank, by liquid cells and not by volume
    halo      ghost layers of padded arrays over cells, faces and nodes

mpi4py and petsc4py are imported here alone, and only if there is more than one rank. Nothing is imported by importing
this package.
"""
