"""The columns of stats.csv of a run of liquid."""

COLUMNS = (
    "step", "frame", "time", "dt", "unknowns", "iterations", "outer_iterations", "pressure_seconds", "step_seconds",
    "kkt", "volume", "volume_error", "particles", "converged", "method", "cfl", "capped", "max_speed", "kinetic",
    "potential", "contacts", "surface_seconds", "transfer_seconds", "viscosity_seconds",
    "extrapolation_seconds", "advection_seconds", "viscosity_iterations", "viscosity_residual", "session",
    "body_kinetic", "body_potential", "body_contacts",
)  # fmt: skip
