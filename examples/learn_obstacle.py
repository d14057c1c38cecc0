"""Learn a bound: the shape of an obstacle under a sheet, from the sheet alone, by gradients through the solve.

python examples/learn_obstacle.py     prints the error of the sheet before and after, writes learn_obstacle.png
"""

from __future__ import annotations

import torch

import nonstick.torch


def main(n: int = 32, steps: int = 40, picture: str | None = None) -> tuple[float, float]:
    """The largest error of the sheet before and after `steps` steps of gradient descent on the obstacle."""
    axis = torch.linspace(-1.0, 1.0, n, dtype=torch.float64)
    x, y = torch.meshgrid(axis, axis, indexing="ij")
    ones = torch.ones(n, n, dtype=torch.float64)
    A = (ones, ones), 4 * ones
    load = -8.0 / n**2 * ones

    def sheet(obstacle: torch.Tensor) -> torch.Tensor:
        return nonstick.torch.solve(A, load, obstacle)

    hidden = 0.5 - 2.0 * ((x - 0.2) ** 2 + y**2) + 0.3 * torch.exp(-20 * ((x + 0.3) ** 2 + (y - 0.3) ** 2))
    seen = sheet(hidden)
    # A guess above the sheet touches it everywhere, so that the gradient says something everywhere.
    guess = torch.full((n, n), 0.6, dtype=torch.float64, requires_grad=True)
    descent = torch.optim.SGD([guess], lr=0.3)
    first = last = float("inf")
    for step in range(steps):
        found = sheet(guess)
        last = float((found - seen).detach().abs().max())
        first = last if step == 0 else first
        descent.zero_grad()
        ((found - seen) ** 2).sum().backward()
        descent.step()
    if picture:
        found = sheet(guess).detach()
        force = nonstick.torch.product(*A, found) - load  # the obstacle presses where this is positive
        draw(hidden, seen, torch.where(force > 0.1 * force.max(), guess.detach(), torch.nan), found, picture)
    return first, last


def draw(hidden, seen, guess, found, path: str) -> None:
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 4, figsize=(9.6, 2.6), layout="constrained")
    fields = {
        "obstacle, hidden": hidden,
        "sheet, seen": seen,
        "sheet, found": found,
        "obstacle, where it presses": guess,
    }
    for axis, (title, field) in zip(axes, fields.items()):
        axis.imshow(field.T, origin="lower", vmin=-0.1, vmax=0.7)
        axis.set(title=title, xticks=[], yticks=[])
    figure.savefig(path, dpi=80)
    plt.close(figure)


if __name__ == "__main__":
    print("largest error of the sheet: {:.3f} before, {:.4f} after".format(*main(picture="learn_obstacle.png")))
