"""Train a small network through a solve with bounds: it learns which load a sheet carries, from sheets on a floor.

python examples/train_network.py      prints the loss before and after, writes train_network.png
"""

from __future__ import annotations

import torch

import nonstick.torch


def main(n: int = 16, steps: int = 120, batch: int = 16, picture: str | None = None) -> tuple[float, float]:
    """The loss on new loads before and after `steps` steps; a load is a push down at one place."""
    torch.manual_seed(0)
    axis = torch.linspace(0.0, 1.0, n, dtype=torch.float64)
    x, y = torch.meshgrid(axis, axis, indexing="ij")
    ones = torch.ones(n, n, dtype=torch.float64)

    def sheet(load: torch.Tensor) -> torch.Tensor:
        """Sheets over a floor at -0.1, all at once."""
        return nonstick.torch.solve(((ones, ones), 4 * ones), load, -0.1)

    def push(place: torch.Tensor) -> torch.Tensor:
        px, py = place[:, 0, None, None], place[:, 1, None, None]
        return -0.2 * torch.exp(-40 * ((x - px) ** 2 + (y - py) ** 2))

    network = torch.nn.Sequential(torch.nn.Linear(2, 64), torch.nn.Tanh(), torch.nn.Linear(64, n * n)).double()
    adam = torch.optim.Adam(network.parameters(), lr=0.01)
    slower = torch.optim.lr_scheduler.ExponentialLR(adam, 0.98)

    def loss(places: torch.Tensor) -> torch.Tensor:
        return ((sheet(0.03 * network(places).reshape(-1, n, n)) - sheet(push(places))) ** 2).mean() * n * n

    new = torch.rand(32, 2, dtype=torch.float64)
    with torch.no_grad():
        first = float(loss(new))
    for _ in range(steps):
        adam.zero_grad()
        loss(torch.rand(batch, 2, dtype=torch.float64)).backward()
        adam.step()
        slower.step()
    with torch.no_grad():
        last = float(loss(new))
        if picture:
            draw(sheet(push(new[:3])), sheet(0.03 * network(new[:3]).reshape(-1, n, n)), picture)
    return first, last


def draw(true, found, path: str) -> None:
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(2, 3, figsize=(6.0, 4.2), layout="constrained")
    for row, (title, fields) in zip(axes, {"sheet": true, "with the load of the network": found}.items()):
        for axis, field in zip(row, fields):
            axis.imshow(field.T, origin="lower", vmin=-0.1, vmax=0.0)
            axis.set(xticks=[], yticks=[])
        row[1].set_title(title)
    figure.savefig(path, dpi=80)
    plt.close(figure)


if __name__ == "__main__":
    print("loss on new loads: {:.3f} before, {:.4f} after".format(*main(picture="train_network.png")))
