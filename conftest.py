"""Examples in docstrings may write files: each runs in a folder of its own."""

import pytest


@pytest.fixture(autouse=True)
def _own_folder(request):
    if isinstance(request.node, pytest.DoctestItem):
        request.getfixturevalue("monkeypatch").chdir(request.getfixturevalue("tmp_path"))
