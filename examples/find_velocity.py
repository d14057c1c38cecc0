"""Find the first velocity of a liquid from a later one, by gradient descent through several steps of a simulation.

python examples/find_velocity.py      prints the misfit before and after, writes find_velocity.png
"""

from __future__ import annotations

import torch

import nonstick.torch

DT, GRAVITY = 0.05, 1.0


def main(n: int = 16, frames: int = 3, steps: int = 25, picture: str | None = None) -> tuple[float, float]:
    """The misfit after `frames` steps of time, before and after `steps` steps of L-BFGS on the first velocity."""
    dx = 1.0 / n
    node = torch.linspace(0.0, 1.0, n + 1, dtype=torch.float64)
    cell = 0.5 * (node[1:] + node[:-1])
    x, y = torch.meshgrid(node, node, indexing="ij")
    solid = 0.45 - torch.sqrt((x - 0.5) ** 2 + (y - 0.5) ** 2)  # a round tank
    solid = torch.minimum(solid, torch.sqrt((x - 0.6) ** 2 + (y - 0.35) ** 2) - 0.12)  # with a pillar in it
    cx, cy = torch.meshgrid(cell, cell, indexing="ij")
    liquid = cy - 0.7 + 0.1 * (cx - 0.5)

    def later(u: torch.Tensor, v: torch.Tensor) -> tuple[torch.Tensor, ...]:
        for _ in range(frames):
            u, v = carried(u, v, u, dx, 0), carried(u, v, v, dx, 1) - DT * GRAVITY
            (u, v), _ = nonstick.torch.project(liquid, (u, v), dt=DT, dx=dx, phi_solid=solid, rho=1.0)
        return u, v

    stir = torch.exp(-30 * ((x[:, :-1] - 0.35) ** 2 + (y[:, :-1] + 0.5 * dx - 0.5) ** 2))
    hidden = stir, torch.zeros(n, n + 1, dtype=torch.float64)
    with torch.no_grad():
        seen = later(*hidden)
    guess = [torch.zeros_like(a, requires_grad=True) for a in hidden]
    descent = torch.optim.LBFGS(guess, max_iter=steps, max_eval=2 * steps, line_search_fn="strong_wolfe")
    misfits = []

    def misfit() -> torch.Tensor:
        descent.zero_grad()
        total = sum(((a - b) ** 2).sum() for a, b in zip(later(*guess), seen))
        total.backward()
        misfits.append(float(total.detach()))
        return total

    descent.step(misfit)
    if picture:  # only the part without divergence can be found: the first projection takes the rest away
        with torch.no_grad():
            step = {"dt": DT, "dx": dx, "phi_solid": solid, "rho": 1.0}
            first_ones = [nonstick.torch.project(liquid, tuple(v), **step)[0] for v in (hidden, guess)]
        draw(first_ones[0], seen, first_ones[1], solid, picture)
    return misfits[0], min(misfits)


def carried(u: torch.Tensor, v: torch.Tensor, field: torch.Tensor, dx: float, axis: int) -> torch.Tensor:
    """One upwind step of `field`, the velocity on faces of `axis`, with (u, v)."""
    if axis == 0:
        across = torch.nn.functional.pad(0.25 * (v[1:, 1:] + v[:-1, 1:] + v[1:, :-1] + v[:-1, :-1]), (0, 0, 1, 1))
        way = u, across
    else:
        along = torch.nn.functional.pad(0.25 * (u[1:, 1:] + u[:-1, 1:] + u[1:, :-1] + u[:-1, :-1]), (1, 1))
        way = along, v
    out = field
    for k, speed in enumerate(way):
        before, behind = field.roll(1, k), field.roll(-1, k)
        slope = torch.where(speed > 0, field - before, behind - field) / dx
        out = out - DT * speed * slope
    return out


def draw(hidden, seen, found, solid, path: str) -> None:
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 3, figsize=(8.4, 2.9), layout="constrained")
    for axis, (title, (u, v)) in zip(
        axes, {"first, hidden": hidden, "later, seen": seen, "first, found": found}.items()
    ):
        across, up = 0.5 * (u[1:] + u[:-1]), 0.5 * (v[:, 1:] + v[:, :-1])
        axis.contourf(solid.T, levels=[-9, 0], colors=["0.8"], extent=(0, 1, 0, 1))
        n = across.shape[0]
        at = (torch.arange(n) + 0.5) / n
        axis.quiver(at, at, across.T, up.T, scale=8)
        axis.set(title=title, xticks=[], yticks=[], aspect="equal")
    figure.savefig(path, dpi=80)
    plt.close(figure)


if __name__ == "__main__":
    print("misfit: {:.3f} before, {:.5f} after".format(*main(picture="find_velocity.png")))
