"""The velocity of a step: forces, pressure, viscosity, and the extrapolation beyond the liquid.

Fields on the faces come in, fields on the faces go out; particles are not known here.
"""
