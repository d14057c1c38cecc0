"""The simulator: particles or a level set on a MAC grid, with walls that let go."""
