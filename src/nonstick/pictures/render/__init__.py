"""Pictures and movies of runs, without a display: NumPy and a compiled ray marcher, no GL."""
