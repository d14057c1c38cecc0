# Everything here makes its own .venv first; a bare clone with python3 (3.11 or newer) and make is enough.
PYTHON ?= python3
JOBS ?= 2
FUZZ ?= 10000
KILLS ?= 100
RANKS ?= 1 2 3 4
# What the oldest packages are tried with: where they differ most from the newest. OLDEST=tests is the whole fast part.
OLDEST ?= tests/test_api.py tests/test_forms.py tests/test_validate.py tests/bodies tests/cli tests/core tests/discretise
# The CPU build of PyTorch carries a local version tag that the default index does not serve, so this installs a wheel
# that is at hand or fails at once; it never fetches the large CUDA build.
TORCH ?= torch==2.13.0+cpu
DEMO ?= --set domain.resolution=40 --frames 75 --no-movie --set camera.width=400 --set camera.height=400
BIN := .venv/bin
SOURCES := src tests $(wildcard examples validation benchmarks paper docs/*.py)

.PHONY: help demo test test-fast test-clients mpi kernels test-oldest test-mpi test-arrays fuzz soak lint checks format bench bench-peers papers docs paper clean
.DEFAULT_GOAL := help

help:
	@echo "make demo         run the demonstration and say where the pictures are"
	@echo "make test         run the tests ($(JOBS) processes; JOBS=n for another number)"
	@echo "make test-fast    the same without the slow ones"
	@echo "make test-clients exported files in OpenVDB, ParaView, USD and Blender, pages in Chromium; installs them (Debian, as root)"
	@echo "make mpi          .venv-mpi: an environment for many ranks, with Debian's PETSc and mpi4py (Debian, as root)"
	@echo "make kernels      compile the kernels of common runs for the wheel that is built next"
	@echo "make test-oldest  fast tests with the oldest packages that are allowed (OLDEST=tests for all fast ones)"
	@echo "make test-mpi     the tests of many ranks on 1, 2, 3 and 4 ranks"
	@echo "make test-arrays  the solves on arrays of NumPy, PyTorch and JAX, none left out; installs PyTorch's CPU build (TORCH=...)"
	@echo "make fuzz         10 000 examples of every fuzzer (FUZZ=n for another number); hours"
	@echo "make lint         ruff, mypy and make checks"
	@echo "make checks       the package as published, spelling, hosted workflows"
	@echo "make bench        a short benchmark: every LCP method on the half-filled sphere"
	@echo "make bench-peers  the same problems with other packages; installs them (PETSc: Debian, as root)"
	@echo "make papers       run the tables and figures of the papers that this source has not run; hours, may be stopped (MINUTES=n)"
	@echo "make soak         kill runs at random moments and resume them: the same bytes (KILLS=n)"
	@echo "make docs         build the pages into site/"
	@echo "make paper        the draft for a journal as paper/paper.pdf"
	@echo "make format       let ruff rewrite the sources"
	@echo "make clean        remove .venv and everything built"

demo: .venv/.ready-pictures
	@rm -rf demo/separating demo/sticky
	@echo "the sphere splash with separating walls ..."
	@$(BIN)/nonstick run sphere $(DEMO) --out demo/separating
	@echo "the same with sticky walls ..."
	@$(BIN)/nonstick run sphere $(DEMO) --set walls.pressure=none --out demo/sticky
	@echo "painting both side by side ..."
	@$(BIN)/nonstick render demo/sticky --compare demo/separating --out demo/sphere.mp4

# every built-in scene: a run, a picture and a movie of it, and docs/gallery.md; takes about half an hour
gallery: .venv/.ready-pictures
	@$(BIN)/python docs/make_gallery.py

# the pages in a browser come first and alone: a browser that draws without a graphics card needs the computer for itself
test: .venv/.ready-dev .venv/.petsc
	@failed=0; \
	$(BIN)/python -m pytest -n 0 -rs $(ARGS) -m browser || [ $$? = 5 ] || failed=1; \
	$(BIN)/python -m pytest -n $(JOBS) -rs --durations=15 --durations-min=2 -m "not browser" $(ARGS) || failed=$$?; \
	exit $$failed

test-fast: .venv/.ready-dev
	@$(BIN)/python -m pytest -n $(JOBS) -m "not slow" $(ARGS)

test-clients: .venv/.ready-dev
	@sh tests/files/formats/clients/install.sh $(BIN)/python
	@$(BIN)/python -m pytest -n 0 -rs tests/files/formats tests/pictures/page $(ARGS)

mpi: .venv-mpi/.ready
	@echo "nonstick for many ranks: .venv-mpi/bin/nonstick solve FILE --ranks N, or mpiexec -n N .venv-mpi/bin/nonstick ..."

kernels: .venv/.ready-pictures
	@$(BIN)/python tests/ship_kernels.py

test-oldest: .venv-oldest/.ready
	@.venv-oldest/bin/python -m pytest -p no:cacheprovider -n $(JOBS) -m "not slow and not browser" $(OLDEST) $(ARGS)

test-mpi: .venv-mpi/.ready
	@sh tests/mpi/run.sh .venv-mpi/bin/python $(RANKS)

test-arrays: .venv/.ready-dev
	@$(BIN)/python -c 'import torch' 2>/dev/null || $(BIN)/python -m pip install -qq --disable-pip-version-check "$(TORCH)"
	@NONSTICK_ARRAYS=1 $(BIN)/python -m pytest -n $(JOBS) -rs tests/arrays $(ARGS)

fuzz: .venv/.ready-dev
	@NONSTICK_FUZZ=$(FUZZ) $(BIN)/python -m pytest -n $(JOBS) tests/fuzz $(ARGS)

lint: .venv/.ready-dev
	@$(BIN)/ruff check $(SOURCES)
	@$(BIN)/ruff format --check $(SOURCES)
	@$(BIN)/mypy
	@if $(MAKE) --no-print-directory .venv/.ready-checks; then $(MAKE) --no-print-directory checks; \
	else echo "note: the tools of the group 'checks' cannot be installed here; make checks is left out"; fi

# the package as it would be published, spelling, and the files for hosted checks; nothing here needs a network
checks: .venv/.ready-checks
	@$(BIN)/validate-pyproject pyproject.toml >/dev/null
	@rm -rf build/dist && $(BIN)/python -m build -q --no-isolation --outdir build/dist . >/dev/null
	@$(BIN)/twine --no-color check --strict build/dist/* >/dev/null || $(BIN)/twine check --strict build/dist/*
	@$(BIN)/check-wheel-contents build/dist/*.whl
	@$(BIN)/pyroma --quiet --min 10 --skip-tests AuthorEmail,Url,BusFactor build/dist/*.tar.gz
	@$(BIN)/repo-review --format json . >/dev/null || $(BIN)/repo-review --show err .
	@$(BIN)/codespell
	@$(BIN)/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
	@$(BIN)/check-jsonschema --builtin-schema vendor.dependabot .github/dependabot.yml
	@$(BIN)/zizmor --quiet --offline --pedantic --no-progress .github

format: .venv/.ready-dev
	@$(BIN)/ruff check --fix $(SOURCES)
	@$(BIN)/ruff format $(SOURCES)

bench: .venv/.ready-core
	@$(BIN)/nonstick bench sphere3d --sizes 32 64 --methods all --json bench-sphere3d.json

bench-peers: .venv/.ready-bench .venv/.petsc
	@$(BIN)/python benchmarks/peers.py --out bench-peers

papers: .venv/.ready-pictures
	@$(BIN)/python docs/run_papers.py $(if $(MINUTES),--minutes $(MINUTES))

soak: .venv/.ready-core
	@$(BIN)/python validation/soak.py --kills $(KILLS)

docs: .venv/.ready-docs
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict
	@echo "the pages are in site/index.html"

paper: .venv/.ready-paper
	@$(BIN)/python paper/build.py

clean:
	rm -rf .venv .venv-mpi .venv-oldest site build dist demo bench-peers bench-*.json bench-*.png .pytest_cache .ruff_cache .mypy_cache

# -- the environment --------------------------------------------------------------------------------
# One stamp per set of extras and groups, made again when pyproject.toml changes. `core` is the package alone.

WANTS-core := --editable .
WANTS-pictures := --editable '.[pictures]'
WANTS-dev := --editable '.[pictures,mesh,usd,surface,view,cluster,bench,integrations]' --group dev
WANTS-bench := --editable '.[bench,pictures]'
WANTS-docs := --editable . --group docs
WANTS-checks := --group checks
WANTS-paper := --group paper

# Debian's PETSc, one of the peers: installed as root, else its tests are skipped and say so.
.venv/.petsc: benchmarks/install-petsc.sh | .venv/bin/python
	@sh benchmarks/install-petsc.sh
	@touch $@

# Debian's python3, mpi4py and PETSc belong together, and PETSc wants NumPy 1.x, so this environment stands beside .venv.
.venv-oldest/.ready: pyproject.toml tests/oldest.py
	@$(PYTHON) -m venv .venv-oldest
	@.venv-oldest/bin/python -m pip install -qq --disable-pip-version-check $$($(PYTHON) tests/oldest.py) psutil
	@.venv-oldest/bin/python -m pip install -qq --disable-pip-version-check --no-deps --editable .
	@touch $@

.venv-mpi/.ready: pyproject.toml tests/mpi/install.sh
	@sh tests/mpi/install.sh .venv-mpi
	@touch $@

.venv/.ready-%: pyproject.toml | .venv/bin/python
	@echo "installing $(WANTS-$*) into .venv, which can take a few minutes ..."
	@$(BIN)/python -m pip install -qq --disable-pip-version-check 'pip>=25.1'   # the first that knows groups
	@$(BIN)/python -m pip install -qq --disable-pip-version-check $(WANTS-$*)
	@touch $@

.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	    { echo "nonstick needs Python 3.11 or newer; say which one: make PYTHON=python3.12 ..."; exit 1; }
	@echo "making .venv with $$($(PYTHON) --version) ..."
	@$(PYTHON) -m venv .venv || { rm -rf .venv; echo "python3 cannot make a .venv (Debian: apt install python3-venv)"; exit 1; }
