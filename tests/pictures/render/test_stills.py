"""The example that compares sticky and separating walls runs, and its picture shows something."""

import importlib.util
from pathlib import Path

import numpy as np

EXAMPLE = Path(__file__).parents[3] / "examples" / "sticky_vs_separating.py"


def test_sticky_walls_pull_and_separating_walls_do_not(tmp_path):
    from matplotlib.image import imread

    spec = importlib.util.spec_from_file_location("sticky_vs_separating", EXAMPLE)
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    found = example.main(n=14, path=tmp_path / "pictures" / "demo.png", method="pi-pcg")
    assert found["sticky smallest pressure"] < -100
    assert found["separating smallest pressure"] > -1e-3 and found["separating cells that let go"] > 0
    image = imread(found["picture"])
    assert image.shape[0] > 500 and np.unique(image.reshape(-1, image.shape[2]), axis=0).shape[0] > 100
