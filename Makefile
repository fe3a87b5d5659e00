# `make demo` and `make test` need only python3 (>= 3.11) and make.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
RUN_DIR ?= runs/demo

.PHONY: demo figures install test slow lint types docs clean

$(VENV)/.installed: setup.cfg pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -qq --upgrade pip
	$(BIN)/python -m pip install -qq --editable .
	touch $@

$(VENV)/.installed-dev: $(VENV)/.installed
	$(BIN)/python -m pip install -qq --editable ".[dev]"
	touch $@

$(VENV)/.installed-docs: $(VENV)/.installed
	$(BIN)/python -m pip install -qq --editable ".[docs]"
	touch $@

install: $(VENV)/.installed

demo: $(VENV)/.installed
	$(BIN)/elkhound compare examples/decoder_block.onnx --bind batch=4,context=512 --chip toy-64 --time-limit 20 --run-dir $(RUN_DIR)

figures: $(VENV)/.installed
	$(BIN)/elkhound figures --quick

test: $(VENV)/.installed-dev
	$(BIN)/python -m pytest -q -n 2 -m "not slow"

slow: $(VENV)/.installed-dev
	$(BIN)/python -m pytest -q -n 2 -m slow

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.installed-dev
	$(BIN)/mypy

docs: $(VENV)/.installed-docs
	$(BIN)/python -m sphinx -q -W --keep-going -b html docs build/site

clean:
	rm -rf build dist *.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis
