# make run       set everything up and open the dashboard
# make setup     set everything up for it, and start nothing
# make test      set everything up and run the tests, in a real browser too; ARGS=... for pytest
# make test-all  also the tests that take long and guard what is rare
# make near      the tests of what was changed since main, without a browser
# make check     format, lint, types, import rules, how plain the code is, what documents name
# make dist      what a release uploads, in build/dist
# make release   a version: its part of the list of changes, a commit, a tag; VERSION=0.3.0
# make docs      the documents as a site, in build/docs
# make bench     side-by-side speed and memory
# make torture   kills, disks, databases, hostile files and sessions; ARGS="--seed 1 --kills 20"

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALL = $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile -r
# On every core, where pip compiles on one; what is written for later Pythons stays as it is.
COMPILE = $(BIN)/python -m compileall -qq -j 0 $(VENV)/lib || true

.PHONY: run setup test near test-newest test-lowest test-all servers check docs dist release bench torture format
.DEFAULT_GOAL := run

run: $(VENV)/.run-ready
	$(BIN)/streamlit run app.py

setup: $(VENV)/.run-ready

test: servers
ifdef ARGS
	$(BIN)/python -m pytest $(ARGS)
else
	@scripts/all-tests "$(BIN)" -m "not slow"
endif

near: $(VENV)/.dev-ready
	$(BIN)/python scripts/near.py $(ARGS)

# Into the Python that PYTHON names, best one of an empty environment: with the newest versions that
# the ranges of pyproject.toml allow, and with the lowest.
test-newest:
	$(PYTHON) -m pip install --quiet --upgrade --upgrade-strategy eager -e ".[all,test]"
	$(PYTHON) -m pytest -q -m "not slow" --ignore tests/browser $(ARGS)

test-lowest:
	@mkdir -p build
	$(PYTHON) scripts/lowest.py > build/lowest.txt
	$(PYTHON) -m pip install --quiet -e ".[all,test]" -c build/lowest.txt
	$(PYTHON) -m pytest -q -m "not slow" --ignore tests/browser $(ARGS)

test-all: servers
	@scripts/all-tests "$(BIN)"

# What tests start besides Python.
servers: $(VENV)/.dev-ready
	@scripts/ensure-browser "$(BIN)"
	@scripts/ensure-servers

check: $(VENV)/.dev-ready
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python scripts/plainness.py
	$(BIN)/python -m pytest --quiet checks

format: $(VENV)/.dev-ready
	$(BIN)/ruff format
	$(BIN)/ruff check --fix

docs: .venv-docs/.ready $(VENV)/.run-ready
	@mkdir -p build
	@$(BIN)/python -m ecv_core reproduce > build/papers.md
	@$(BIN)/python -m scripts.corpus_table > build/forms.md
	@$(BIN)/python -m scripts.metrics_reference > build/metrics.md
	NO_MKDOCS_2_WARNING=true .venv-docs/bin/mkdocs build --quiet --strict
	@echo "the site is in build/docs/*/index.html"

.venv-docs/.ready: requirements-docs.txt
	$(PYTHON) -m venv .venv-docs
	.venv-docs/bin/python -m pip install --quiet --disable-pip-version-check -r requirements-docs.txt
	@touch $@

# What a release uploads: looked at by twine, and installed into an empty environment.
dist: $(VENV)/.dev-ready
	@rm -rf build/dist
	$(BIN)/python -m pip install --quiet --disable-pip-version-check build twine
	$(BIN)/python -m build --outdir build/dist .
	$(BIN)/python -m twine check --strict build/dist/*
	@rm -rf build/empty && $(PYTHON) -m venv build/empty
	build/empty/bin/python -m pip install --quiet --disable-pip-version-check build/dist/*.whl
	build/empty/bin/ecv --version

release: check
	$(BIN)/python scripts/release.py $(VERSION)
	$(MAKE) dist

bench: $(VENV)/.dev-ready
	$(BIN)/python -m benchmarks.models $(ARGS)

torture: $(VENV)/.dev-ready
	@scripts/ensure-servers
	OMP_NUM_THREADS=1 $(BIN)/python -m benchmarks.torture $(ARGS)

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "e-fold needs Python 3.11 or newer; say which with: make PYTHON=python3.12 ..."; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.run-ready: requirements.txt | $(BIN)/python
	$(INSTALL) requirements.txt
	@$(COMPILE)
	@touch $@

$(VENV)/.dev-ready: requirements.txt requirements-dev.txt | $(BIN)/python
	$(INSTALL) requirements-dev.txt
	@$(COMPILE)
	@touch $@ $(VENV)/.run-ready
