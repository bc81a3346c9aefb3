# Every target works from a fresh clone: it makes .venv and installs Catena there on first use.
PYTHON ?= python3
BIN := .venv/bin
INSTALLED := .venv/.installed

.PHONY: help run test lint slow fuzz bench docs-check vendor clean
.DELETE_ON_ERROR:

help:
	@echo "make run         a machine tool falls and is caught: three simulations, with plots"
	@echo "make test        ruff, mypy, import directions, private names, tests that take seconds; some as another processor"
	@echo "make slow        the tests that take longer, and those that compute as several processors: half an hour"
	@echo "make fuzz        mechanisms, calls and files made by chance, a million of them: hours"
	@echo "make bench       speed side by side with other engines"
	@echo "make lint        ruff, mypy, import directions, private names and what rooms may hold only"
	@echo "make docs-check  run the Python blocks of the documentation"
	@echo "make vendor      fetch what pages take from others, with npm"
	@echo "make clean       remove .venv, caches and build products"

# A failed first creation leaves no working interpreter, so the interpreter itself is what is tested for.
$(INSTALLED): pyproject.toml
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[test]"
	@touch $@

run: $(INSTALLED)
	$(BIN)/python examples/05_hslm_pid.py

lint: $(INSTALLED)
	$(BIN)/python -m ruff check .
	$(BIN)/python -m ruff format --check --quiet .
	$(BIN)/python -m mypy
	$(BIN)/python tools/check_imports.py
	$(BIN)/python tools/check_privates.py
	$(BIN)/python tools/check_rooms.py

test: lint
	$(BIN)/python -m pytest -n 2 -m "not slow and not fuzz"
	$(BIN)/python tools/processors.py few

slow: $(INSTALLED)
	# What cannot be installed is left out: tests that need it are skipped.
	for extra in study,dask mpi ray submitit analysis; do \
		$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[$$extra]" || true; \
	done
	CATENA_BROWSER_REQUIRED=1 $(BIN)/python -m pytest -n 2 -m slow
	# The acceptance script of the studio is quick, and skipped where no browser is found; here it has to run.
	CATENA_BROWSER_REQUIRED=1 $(BIN)/python -m pytest -n 2 -m "not slow" tests/browser
	$(BIN)/python tools/mutants.py
	$(BIN)/python tools/processors.py turns

fuzz: $(INSTALLED)
	$(BIN)/python -m pytest -m fuzz
	$(BIN)/python tools/processors.py all

bench: $(INSTALLED)
	$(BIN)/python -m benchmarks

docs-check: $(INSTALLED)
	$(BIN)/python -m pytest tests/docs

vendor: $(INSTALLED)
	$(BIN)/python tools/write_vendor.py

clean:
	rm -rf .venv build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
	find src -name '*.egg-info' -prune -exec rm -rf {} +
