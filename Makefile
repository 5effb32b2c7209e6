# The commands of canvass. `make` alone lists them. A user needs Python 3.11+, Java 17+ and make; the rest goes
# into .venv. Every target that needs Java asks for it first, in one line and before any work is done.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

# Some containers set it. Without bytecode every process compiles what it imports, and each worker of pytest rewrites
# every test: 12 s of the processor for a worker, 0.4 s for a command.
unexport PYTHONDONTWRITEBYTECODE

VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/canvass.stamp
PAGE_STAMP := $(VENV)/canvass-page.stamp
TEST_STAMP := $(VENV)/canvass-test.stamp

# The first of these that runs and is new enough; `make PYTHON=/path/to/python setup` chooses another.
PYTHON ?= $(shell for p in python3.13 python3.12 python3.11 python3; do \
	"$$p" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo "$$p"; break; }; done)

# How many tests run at once: many of them wait. Each takes up to 3 GiB when it starts Java.
JOBS ?= 3

KERNELS := tests/unit/conformance/test_kernel_forms.py
TYPES := $(BIN)/mypy && $(BIN)/python tools/page.py check --if-possible

.PHONY: help help-all setup setup-test demo page page-if-possible browse browser test lint types check night bench wheel-test known-steps minimality lock clean java

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 20
	@echo '  make help-all     the same with what each needs and takes'

help-all: help
	@tools/help-all

setup: $(STAMP) ## make .venv with the locked versions of what canvass needs
	@:

setup-test: $(TEST_STAMP) ## add what the tests need
	@:

demo: java setup ## see it work: models checked, a captured run verified, then on Spark
	@tools/demo

page: $(PAGE_STAMP) ## build the page of `canvass browse`
	@$(BIN)/python tools/page.py build

page-if-possible: $(TEST_STAMP)
	@$(BIN)/python tools/page.py build --if-possible --with-tools

browse: page ## look at the sample run in a browser
	@$(BIN)/canvass browse

browser: ## install Debian's Chromium for the tests of the page (apt-get; root or sudo)
	@tools/need-browser install

test: java lint page-if-possible ## lint, types, and all tests but the nightly ones
	@echo 'canvass: machine code is compiled and the tests are collected first, which takes a minute' >&2
# Types are checked beside the tests. The first tests compile the kernels, which each worker would do by itself. The
# order of the folders is kept: else the files with few, long tests come last, and one worker waits.
	@types=$$(mktemp); { $(TYPES); } >"$$types" 2>&1 & checking=$$!; failed=0; \
	$(BIN)/pytest -q $(KERNELS) || failed=1; \
	$(BIN)/pytest -n $(JOBS) --deselect $(KERNELS) --no-loadscope-reorder --durations=25 --durations-min=2 || failed=1; \
	wait $$checking || failed=1; cat "$$types"; rm "$$types"; exit $$failed

lint: $(TEST_STAMP) ## ruff: rules and format
	@$(BIN)/ruff check
	@$(BIN)/ruff format --check

types: $(TEST_STAMP) ## mypy --strict; for the page tsc, Biome, and its unit tests
	@$(TYPES)

check: java setup ## model-check the spec against its manifest (spec/manifest.json)
	@$(BIN)/canvass check

night: java page-if-possible ## the long models and the long tests
	@HYPOTHESIS_PROFILE=night $(BIN)/pytest -n $(JOBS) -m "night or hypothesis"

bench: java page-if-possible ## measure what is in benchmarks/
	@failed=; for each in benchmarks/[a-z]*.py; do \
		echo "# $$each"; $(BIN)/python "$$each" || failed+=" $$each"; \
	done; [ -z "$$failed" ] || { echo "failed:$$failed" >&2; exit 1; }

wheel-test: java page-if-possible ## build the wheel and run it in an empty environment
	@$(BIN)/pytest -m wheel

known-steps: java setup ## let TLC make the table of steps that ships with canvass anew
	@$(BIN)/python tools/known_steps.py

minimality: java $(TEST_STAMP) ## check which hardenings are needed, and write docs/findings/README.md
	@$(BIN)/pytest -q -m night --rewrite tests/models/test_minimality.py

lock: $(TEST_STAMP) ## resolve pyproject.toml again into the lock files
	@tools/lock "$(BIN)"

clean: ## remove .venv, caches and what was built
	@rm -rf $(VENV) build dist out states .mypy_cache .ruff_cache .pytest_cache .hypothesis
	@rm -rf tools/canvass/browser/page tools/canvass/browser/ui/node_modules
	@find benchmarks impl refinement tools tests -name __pycache__ -type d -prune -exec rm -rf {} +

java:
	@tools/need-java

$(STAMP): pyproject.toml requirements.lock
	@tools/setup "$(PYTHON)" "$(VENV)" demo
	@touch $@

$(PAGE_STAMP): $(STAMP) requirements-dev.lock
	@tools/setup "$(PYTHON)" "$(VENV)" page
	@touch $@

$(TEST_STAMP): $(STAMP) requirements-dev.lock
	@tools/setup "$(PYTHON)" "$(VENV)" test
	@touch $@ $(PAGE_STAMP)
