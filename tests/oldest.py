"""The oldest packages that pyproject.toml allows, as words for pip: `make test-oldest` runs some tests with them."""

import re
import tomllib
from pathlib import Path

project = tomllib.loads(Path(__file__).parents[1].joinpath("pyproject.toml").read_text(encoding="utf-8"))["project"]
needed = [*project["dependencies"], *project["optional-dependencies"]["pictures"]]
print(*(re.sub(r">=", "==", word) for word in needed))
