# `make` sets up .venv and builds the command .venv/bin/cutthrough. Needs Rust, Python 3.11 or newer, a C compiler.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
SOURCES := $(shell find crates -name '*.rs' -o -name Cargo.toml) Cargo.toml Cargo.lock pyproject.toml

# Properties are tested on the same random inputs on every machine; another seed draws others.
export PROPTEST_RNG_SEED ?= 2026

.PHONY: all demo test test-programs test-times test-long test-interleavings bench lint lint-rust lint-python format api docs wheel lock clean
all: $(VENV)/.built

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Cutthrough needs Python 3.11 or newer; make PYTHON=...")'
	$(PYTHON) -m venv $(VENV)

# The locked versions and hashes: the same environment on every machine.
$(VENV)/.run: requirements/run.lock | $(BIN)/python
	$(PIP) install --quiet --require-hashes --requirement $<
	touch $@

$(VENV)/.dev: requirements/dev.lock | $(VENV)/.run
	$(PIP) install --quiet --require-hashes --requirement $<
	touch $@

$(VENV)/.built: $(SOURCES) | $(VENV)/.run
	VIRTUAL_ENV=$(abspath $(VENV)) $(BIN)/maturin develop --release --locked
	touch $@

demo: all
	$(BIN)/cutthrough run examples/fat_tree.toml --out results/demo

# Optimised, with the checks of a debug build: the engine's invariants are on.
test: all $(VENV)/.dev
	cargo test --workspace --locked
	$(BIN)/python -m pytest -m 'alone and not long'
	$(BIN)/python -m pytest -m 'not alone and not long' --numprocesses auto --maxprocesses 8 --dist loadfile

# The programs of the Rust tests, not run: needs nothing of Python.
test-programs: | lint-rust
	cargo test --workspace --locked --no-run

# The same, with the processor time of each test program, file and slow test; see tools/time_tests.py.
test-times: all $(VENV)/.dev
	$(BIN)/python tools/time_tests.py

# The Rust tests on fresh random inputs, with those that take long, of Rust and of Python (runs that are killed at twenty
# moments): thousands of random networks against the oracle, golden cases in every division over threads and partitions, the
# whole product of kinds, more random mappings, threads in every order. Prints the seed;
# `make test-long CUTTHROUGH_TEST_SEED=...` repeats it.
test-long: all $(VENV)/.dev
	set -e; seed=$${CUTTHROUGH_TEST_SEED:-$$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')}; \
	echo "CUTTHROUGH_TEST_SEED=$$seed"; \
	CUTTHROUGH_TEST_SEED=$$seed PROPTEST_RNG_SEED=$$seed cargo test --workspace --locked -- --include-ignored; \
	CUTTHROUGH_TEST_SEED=$$seed $(BIN)/python -m pytest -m long
	$(MAKE) test-interleavings

# The threads of one run in every order in which they may interleave (loom): the barrier and the pool of the engine.
test-interleavings:
	RUSTFLAGS='--cfg loom' cargo test -p cutthrough-engine --lib --locked --target-dir target/loom loom_

# Instructions of a packet-hop against benches/instructions.json; needs valgrind. `make bench RECORD=--record` records them.
bench: | $(BIN)/python
	$(BIN)/python benches/instructions.py $(RECORD)

lint: lint-rust lint-python

lint-rust:
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked -- -D warnings

lint-python: all $(VENV)/.dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	set -e; for claims in papers/*/claims; do $(BIN)/mypy $$claims; done
	$(BIN)/lint-imports --no-logo --no-cache
	$(BIN)/python tools/tidy.py
	git ls-files -z | xargs -0 $(BIN)/codespell

format: $(VENV)/.dev
	cargo fmt --all
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# Typed sections and points in Python, from the definitions in Rust.
api: all $(VENV)/.dev
	$(BIN)/python tools/generate_api.py

docs: all $(VENV)/.dev
	$(BIN)/sphinx-build -W --keep-going -b html docs docs/_build/html
	@echo "docs/_build/html/index.html"

wheel: $(VENV)/.run
	$(BIN)/maturin build --release --locked --out dist

# After a change of the dependencies in pyproject.toml; needs uv (`pip install uv`).
LOCK := uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --custom-compile-command 'make lock'
lock:
	$(LOCK) pyproject.toml requirements/build.in --extra bokeh -o requirements/run.lock
	$(LOCK) pyproject.toml requirements/build.in --extra bokeh --extra test --extra lint --extra doc -o requirements/dev.lock

clean:
	rm -rf $(VENV) target dist docs/_build
