"""Cases as TOML files, each with the functions that measure them in a Python file of the same name."""
