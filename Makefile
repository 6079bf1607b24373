# make demo    the main job on data that is generated
# make test    all tests
# make lint    style and types
# make bench   the benchmarks, each printing ratios
# make docs    the documentation, in docs/_build
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
USE := $(VENV)/.use
STAMP := $(VENV)/.develop

.PHONY: demo test lint format bench docs wheel clean

$(USE): pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --editable ".[plot]"
	touch $(USE)

$(STAMP): $(USE)
	$(BIN)/python -m pip install --quiet --editable ".[plot,test,lint]"
	touch $(STAMP)

demo: $(USE)
	$(BIN)/bestleaf demo

test: $(STAMP)
	$(BIN)/python -m pytest --doctest-modules src tests

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(STAMP)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(STAMP)
	$(BIN)/python benchmarks/engine.py
	$(BIN)/python benchmarks/oracle.py

wheel: $(STAMP)
	$(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir dist .

clean:
	rm -rf $(VENV) build dist out .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

docs: $(USE)
	$(BIN)/python -m pip install --quiet --editable ".[plot,docs]"
	rm -rf docs/gallery docs/generated
	$(BIN)/python -m sphinx -q -W --keep-going -b html docs docs/_build
