"""The oldest packages that pyproject.toml allows, as words for pip: `make test-oldest` runs the fast tests with them.

They are those of the package itself, of the extras that `make test` installs, and of the tests.
"""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
project = tomllib.loads(ROOT.joinpath("pyproject.toml").read_text(encoding="utf-8"))
makefile = ROOT.joinpath("Makefile").read_text(encoding="utf-8")
extras = re.search(r"^WANTS-dev :=.*\[(.*)\]", makefile, re.MULTILINE)
assert extras, "the Makefile names the extras that tests need"
needed = list(project["project"]["dependencies"])
for extra in extras[1].split(","):
    needed += project["project"]["optional-dependencies"][extra]
print(*(re.sub(r">=([^,]*).*", r"==\1", word) for word in needed + project["dependency-groups"]["test"]))
