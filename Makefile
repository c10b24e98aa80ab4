# Two commands: `make demo` sets everything up and shows the library at work; `make test` sets everything
# up and runs lint, types and tests. Everything is installed into .venv, at the tested versions.

PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin
READY := .venv/.ready

.DEFAULT_GOAL := help
.PHONY: help setup demo play test test-slow test-seeds faults lint type format docs bench reproduce clean

PYTEST := OMP_NUM_THREADS=1 $(BIN)/python -m pytest

help:  ## this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## */\t/' | expand -t 12

setup: $(READY)  ## make .venv and install everything

$(READY): setup.py pyproject.toml requirements/constraints.txt requirements/system.sh requirements/apt.sh
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or later is needed; run: make PYTHON=...")'
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --constraint requirements/constraints.txt torch
	$(BIN)/pip install --quiet --constraint requirements/constraints.txt --editable '.[dev]'
	@sh requirements/system.sh
	@touch $(READY)

demo: setup  ## train an agent from nothing, plan for a far goal, compare; pictures in attrplan-demo/
	$(BIN)/attrplan demo

play: setup  ## train an agent on the switches, and open a page to play with it
	$(BIN)/attrplan play AttrSwitches-v0

test: lint type  ## lint, types and tests
	$(PYTEST) -n auto --dist worksteal

test-slow: setup  ## the tests that take long, in a browser too
	@sh requirements/browser.sh
	$(PYTEST) -n auto --dist worksteal -m slow

test-seeds: setup  ## every learning test with 20 seeds: a table, and an error below 19 of 20
	$(PYTEST) -n auto --dist worksteal -m learning --seeds 20

faults: setup  ## the whole fault campaign: bad goals and files, kills, full disks, dead workers
	ATTRPLAN_FAULTS=full $(PYTEST) tests/faults -m '' -p no:xdist -p no:cacheprovider

lint: setup  ## ruff, nothing rewritten
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

type: setup  ## mypy, strict
	$(BIN)/mypy

format: setup  ## rewrite with ruff
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: setup  ## build docs/_build/html and run its examples, warnings are errors
	$(BIN)/sphinx-build -W -q -b doctest docs docs/_build/doctest
	$(BIN)/sphinx-build -W -q -b html docs docs/_build/html

bench: setup  ## every quick benchmark; figures go to benchmarks/results/
	$(BIN)/python benchmarks/wrapper_overhead.py
	$(BIN)/python benchmarks/graph_scale.py
	$(BIN)/python benchmarks/env_speed.py
	$(BIN)/python benchmarks/learn_speed.py

reproduce: setup  ## the paper's tables with small budgets; figures and a page in attrplan-reproduce/
	$(BIN)/python benchmarks/reproduce.py

clean:  ## remove .venv, caches and built docs
	rm -rf .venv docs/_build build *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
