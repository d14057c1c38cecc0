"""Where the liquid is: the level set from particles, with gaps and thin sheets, or a level set that is advected."""
