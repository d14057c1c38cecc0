"""Where liquid comes in: inflows with their emission, streamlines inside an inflow, and outflows."""
