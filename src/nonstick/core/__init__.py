"""What every package uses: options and their checks, the line by which an object shows itself, optional packages, colours,
and the table of the arrays of frames and checkpoints. Nothing here knows a grid, a matrix or a liquid.
"""
