# make demo    the main job on data that is generated
# make test    all tests
# make quick   the tests that take seconds, for while you work
# make test-gpu    the tests of the GPU, with the Python that has CuPy (PYTHON=...)
# make test-oldest  all tests with the lowest version of every dependency
# make lint    style and types
# make bench   all benchmarks, each printing ratios (hours; BENCHMARKS="engine oracle" for some)
# make dist    wheel and source archive, in dist
# make docs    the documentation, in docs/_build
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
USE := $(VENV)/.use
STAMP := $(VENV)/.develop
OLDEST := .venv-oldest
OLDEST_STAMP := $(OLDEST)/.develop
BENCHMARKS ?= engine oracle revisions bounds listings proposals rivals selection estimators workers interruptions new_data
TESTS ?= --numprocesses=2 --dist=worksteal --doctest-modules src tests

.PHONY: demo test quick test-gpu test-oldest lint format bench docs dist clean

$(USE): pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --editable .
	touch $(USE)

$(STAMP): $(USE)
	$(BIN)/python -m pip install --quiet --editable ".[test,lint]"
	touch $(STAMP)

demo: $(USE)
	$(BIN)/bestleaf demo

test: $(STAMP)
	$(BIN)/python -m pytest $(TESTS)

quick: $(STAMP)
	$(BIN)/python -m pytest --numprocesses=2 --dist=worksteal -m "not slow" tests

test-gpu:
	PYTHONPATH=src $(PYTHON) -m pytest tests/test_gpu.py

$(OLDEST_STAMP): pyproject.toml tools/lowest_versions.py
	test -x $(OLDEST)/bin/python || $(PYTHON) -m venv $(OLDEST)
	$(OLDEST)/bin/python tools/lowest_versions.py test > $(OLDEST)/pins.txt
	$(OLDEST)/bin/python -m pip install --quiet --requirement $(OLDEST)/pins.txt --editable .
	touch $(OLDEST_STAMP)

test-oldest: $(OLDEST_STAMP)
	$(OLDEST)/bin/python -m pytest -W ignore::DeprecationWarning $(TESTS)

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(STAMP)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(STAMP)
	for name in $(BENCHMARKS); do echo "== $$name"; $(BIN)/python benchmarks/$$name.py || exit 1; done

dist: $(USE)
	$(BIN)/python -m pip install --quiet build
	$(BIN)/python -m build --outdir dist

clean:
	rm -rf $(VENV) $(OLDEST) build dist out .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

docs: $(USE)
	$(BIN)/python -m pip install --quiet --editable ".[docs]"
	rm -rf docs/gallery docs/generated
	$(BIN)/python -m sphinx -q -W --keep-going -b html docs docs/_build
