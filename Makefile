# What a person types. `make study` needs only Python 3.11 or newer, make and cargo.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
OUT ?= eastwest-out

.PHONY: against-htsim validation help study test test-rust test-python test-lab lint bench bench-packet install docs clean

help: ## this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

study: install ## builds, runs the bundled study of 1,024 GPUs and says where the report lies
	$(BIN)/eastwest study pune-1024 --out $(OUT)

install: $(VENV)/.built ## builds the command into .venv

# The build is redone when a source of the engine or the package's own description has changed.
RUST_SOURCES := $(shell find crates -name '*.rs' -o -name Cargo.toml) Cargo.toml Cargo.lock
$(VENV)/.built: pyproject.toml $(RUST_SOURCES)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "eastwest needs Python 3.11 or newer; $(PYTHON) is $$($(PYTHON) -V). Name another with: make PYTHON=python3.12"; exit 3; }
	@command -v cargo >/dev/null || { echo "eastwest needs cargo to build its engine: https://rustup.rs"; exit 3; }
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	@touch $@

$(VENV)/.dev: $(VENV)/.built
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	@touch $@

test: lint test-rust test-python ## everything: linters, types, cargo tests, pytest

lint: $(VENV)/.dev
	cargo fmt --all --check
	cargo clippy --release --workspace --all-targets -- -D warnings
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

test-rust:
	cargo test --release

test-python: $(VENV)/.dev
	$(BIN)/pytest -n auto

test-lab: $(VENV)/.dev ## fabrics brought up on this machine with real control planes: needs root, FRR and more
	$(BIN)/pytest -n0 tests/lab/live_*.py

bench: $(VENV)/.dev ## speed: criterion for the engine, pytest-benchmark for the command
	cargo bench -p eastwest-benches
	$(BIN)/pytest benchmarks -n0 --benchmark-only

bench-packet: $(VENV)/.dev ## the packet engine on public simulators' cases: link-hops a second, wall time, memory
	$(BIN)/python benchmarks/packets.py

against-htsim: $(VENV)/.dev ## completion times of the packet engine beside htsim's, as in docs/against-htsim.md
	$(BIN)/python -m benchmarks.against_htsim

validation: $(VENV)/.built ## predictions against measurements: writes docs/validation.md
	$(BIN)/eastwest validate --out docs/validation.md

docs: $(VENV)/.dev ## the documentation as a site
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[docs]'
	$(BIN)/mkdocs build --strict

clean: ## removes what was built
	rm -rf target $(VENV) $(OUT) site
