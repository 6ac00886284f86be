# make run       set everything up and open the dashboard
# make setup     set everything up for it, and start nothing
# make test      set everything up and run the tests, in a real browser too; ARGS=... for pytest
# make test-all  also the tests that take long and guard what is rare
# make near      the tests of what was changed since main, without a browser
# make check     format, lint, types, import rules, how plain the code is, what documents name
# make lock      the versions in locks/ anew; ARGS=--upgrade: the newest that pyproject.toml allows
# make dist      what a release uploads, in build/dist
# make release   a version: its part of the list of changes, a commit, a tag; VERSION=0.3.0
# make docs      the documents as a site, in build/docs
# make bench     side-by-side speed and memory
# make torture   kills, disks, databases, hostile files and sessions; ARGS="--seed 1 --kills 20"

VENV := .venv
ifeq ($(OS),Windows_NT)  # in Git Bash, which has the other programs that this file calls
PYTHON ?= python
BIN := $(VENV)/Scripts
else
PYTHON ?= python3
BIN := $(VENV)/bin
endif
PIP_INSTALL = -m pip install --quiet --disable-pip-version-check --no-compile
INSTALL = $(BIN)/python $(PIP_INSTALL)
TORCH := $(shell grep '^torch' requirements.txt)
# A file of locks/ has every package, so that pip need not look for others.
LOCKED = $(PIP_INSTALL) --no-deps --require-hashes --requirement
# On every core, where pip compiles on one, and without the packages' own tests, a fifth of all; what
# is written for later Pythons stays as it is.
COMPILE = $(BIN)/python -m compileall -qq -j 0 -x '/tests?/' $(VENV)/lib || true

.PHONY: run setup test near test-newest test-lowest test-all servers check docs lock dist release bench torture format
.DEFAULT_GOAL := run

# It resolves for all systems and Pythons at once, and for the lowest versions; pip does neither.
UV := uv==0.13.9
RESOLVE := -m uv pip compile --quiet --system-certs --python-version 3.11
LOCK = $(BIN)/python $(RESOLVE) --universal --generate-hashes --custom-compile-command "make lock"

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
# the ranges of pyproject.toml allow, and with the lowest; torch is the same in both.
test-newest:
	$(PYTHON) $(PIP_INSTALL) --upgrade --upgrade-strategy eager -e ".[all,test]" $(TORCH)
	$(PYTHON) -m pytest -q -m "not slow" --ignore tests/browser $(ARGS)

test-lowest:
	@mkdir -p build
	@echo "$(TORCH)" > build/torch.txt
	$(PYTHON) $(PIP_INSTALL) $(UV)
	$(PYTHON) $(RESOLVE) --resolution lowest-direct --all-extras pyproject.toml -c build/torch.txt \
		--output-file build/lowest.txt
	$(PYTHON) $(PIP_INSTALL) -e ".[all,test]" -c build/lowest.txt
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

.venv-docs/.ready: locks/docs.txt
	$(PYTHON) -m venv .venv-docs
	.venv-docs/bin/python $(LOCKED) locks/docs.txt
	@touch $@

# Every package with the hashes of its files, for all systems and Pythons. torch is not among them:
# what it needs differs by build, so pip installs it after them, in the version of requirements.txt.
lock: | $(BIN)/python
	@mkdir -p build
	@echo "torch ; python_version < '3'" > build/without-torch.txt
	$(INSTALL) $(UV)
	$(LOCK) pyproject.toml --extra dashboard --overrides build/without-torch.txt -o locks/run.txt $(ARGS)
	$(LOCK) pyproject.toml --extra light -c locks/run.txt -o locks/light.txt $(ARGS)
	$(LOCK) pyproject.toml --all-extras --group dev --overrides build/without-torch.txt \
		-c locks/run.txt -o locks/dev.txt $(ARGS)
	$(LOCK) --group docs -o locks/docs.txt $(ARGS)
	for name in recbole cornac; do \
		$(LOCK) ecv_core/bridges/locks/$$name.in --overrides build/without-torch.txt \
			-o ecv_core/bridges/locks/$$name.txt $(ARGS) || exit; \
	done

# What a release uploads: looked at by twine, and used in two empty environments. In one is the core
# from the sources; in the other the wheel with scikit-learn, which runs what docs/examples say.
EMPTY = ECV_DATA_DIR=. ECV_DATABASE_URL=sqlite:///runs.sqlite
EXAMPLES := cross_val_score grid_search pipeline groups
dist: $(VENV)/.dev-ready
	@rm -rf build/dist build/core build/sklearn
	$(INSTALL) build twine
	$(BIN)/python -m build --outdir build/dist .
	$(BIN)/python -m twine check --strict build/dist/*
	$(PYTHON) -m venv build/core
	build/core/bin/python $(PIP_INSTALL) build/dist/*.tar.gz
	cd build/core && $(EMPTY) bin/ecv run synthetic popular --no-energy --quiet
	$(PYTHON) -m venv build/sklearn
	build/sklearn/bin/python $(PIP_INSTALL) "$$(ls build/dist/*.whl)[sklearn]"
	cd build/sklearn && for example in $(EXAMPLES); do \
		bin/python ../../docs/examples/$$example.py || exit 1; done

release: check
	$(BIN)/python scripts/release.py $(VERSION)
	$(MAKE) dist
	git tag --annotate "v$(VERSION)" --message "e-fold $(VERSION)"
	@echo "v$(VERSION) is tagged; what only a person can do is in CONTRIBUTING.md, A release"

bench: $(VENV)/.dev-ready
	$(BIN)/python -m benchmarks.peers build/peers $(ARGS)

torture: $(VENV)/.dev-ready
	@scripts/ensure-servers
	OMP_NUM_THREADS=1 $(BIN)/python -m benchmarks.torture $(ARGS)

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "e-fold needs Python 3.11 or newer; say which with: make PYTHON=python3.12 ..."; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.run-ready: locks/run.txt requirements.txt | $(BIN)/python
	$(BIN)/python $(LOCKED) locks/run.txt
	$(INSTALL) $(TORCH)
	@$(COMPILE)
	@touch $@

$(VENV)/.dev-ready: locks/dev.txt requirements.txt | $(BIN)/python
	$(BIN)/python $(LOCKED) locks/dev.txt
	$(INSTALL) $(TORCH)
	@$(COMPILE)
	@touch $@ $(VENV)/.run-ready
