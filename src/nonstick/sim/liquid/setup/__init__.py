"""Before the first step: the checks of a scene, and what its run will need (memory, step length, method)."""
