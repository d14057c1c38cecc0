"""What every package uses: options, checks of what users give, how an object shows itself, how files of strangers are
opened, optional packages, colours, and the table of the arrays of frames and checkpoints. Nothing here knows a grid, a
matrix or a liquid.
"""
