# `make demo` and `make test` prepare everything they need inside this folder.
# The first Python that is new enough; `make PYTHON=…` names another.
PYTHON ?= $(shell for python in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null \
	&& echo $$python && exit; done)
PREPARE = $(if $(PYTHON),$(PYTHON) scripts/prepare.py,\
	echo "needs Python 3.11 or newer; name one: make PYTHON=/path/to/python3" >&2; exit 1; :)
UV ?= uv
BIN := .venv/bin
PYTEST = mkdir -p .cache/tests && PYTHONDONTWRITEBYTECODE= TMPDIR=$(CURDIR)/.cache/tests $(BIN)/python -m pytest
# Tests wait more than they compute, so more of them than cores run side by side. tests/conftest.py
# says in which order, and that one process runs all that start Spark.
FAST = -m "not slow and not thorough and not long" -n 2 --no-loadscope-reorder
USUAL = -m "not thorough and not long" -n 3 --no-loadscope-reorder
THOROUGH = -m "thorough and not long" -n 3 --no-loadscope-reorder
# Named are those to look at: a test that takes long is made cheaper, or marked `long`.
SLOWEST = --durations 20 --durations-min 5

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-11s %s\n", $$1, $$2}' Makefile

demo: prepare ## start the whole system with a simulated city; ARGS="--speed 60" passes options on
	@exec $(BIN)/citywise demo $(ARGS)

test: prepare-tests ## run all tests but the thorough ones and those that take minutes each
	@$(PYTEST) $(USUAL) $(SLOWEST) $(ARGS)

test-thorough: prepare-tests ## run what costs many seconds and repeats much; CI runs it after `make test`
	@$(PYTEST) $(THOROUGH) $(SLOWEST) $(ARGS)

check: export CITYWISE_EXAMPLES = few
check: prepare-tests ## ruff, mypy, import-linter and the fast tests, in under 90 s
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	@mkdir -p .cache; { $(BIN)/mypy && $(BIN)/lint-imports --no-cache --no-logo; } \
	>.cache/types.log 2>&1 & beside=$$!; \
	$(PYTEST) -q $(FAST) $(ARGS); tests=$$?; \
	wait $$beside; types=$$?; cat .cache/types.log; exit $$((tests | types))

test-long: export CITYWISE_EXAMPLES = exploring
test-long: prepare-tests ## run what takes minutes, and all that is generated, on new examples
	@$(PYTEST) -m "long or hypothesis" --timeout 3600 $(ARGS)

torture: prepare-tests ## kill, stop and lock what runs, and compare; ARGS="--seed 1 --minutes 10" [an hour]
	@exec $(BIN)/python -m tests.torture $(ARGS)

bench: prepare-tests ## run a benchmark; ARGS="NAME --json" chooses
	@exec $(BIN)/citywise bench $(ARGS)

bench-peers: prepare ## install what `citywise bench peers` runs beside us into .cache/peers
	$(BIN)/python -m venv .cache/peers
	.cache/peers/bin/pip install -q -r benchmarks/peer_programs/requirements.txt

docs: prepare ## build the documentation as a site with a search into .cache/docs/site
	@mkdir -p .cache/docs; cmp -s docs/requirements.lock .cache/docs/lock || { rm -rf .cache/docs/lib; \
	$(BIN)/python -m pip install -q --require-hashes --no-deps --target .cache/docs/lib -r docs/requirements.lock \
	&& cp docs/requirements.lock .cache/docs/lock; }
	@PYTHONPATH=.cache/docs/lib $(BIN)/python -m sphinx -q -W --keep-going -b html docs .cache/docs/site
	@echo file://$(CURDIR)/.cache/docs/site/index.html

dist: prepare ## build a wheel and an sdist of everything into dist/
	@mkdir -p dist && $(BIN)/python -c "from setuptools import build_meta as build; \
	build.build_sdist('dist'); build.build_wheel('dist')" >.cache/dist.log 2>&1 \
	|| { cat .cache/dist.log; exit 1; }
	@ls dist/*

prepare: ## set up what the demo needs
	@$(PREPARE)

prepare-tests: ## set up what the tests need
	@$(PREPARE) --tests

clean: ## remove everything that set-up made; keeps .citywise, the data of running systems
	rm -rf .venv .cache node_modules citywise.egg-info build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis

LOCK = $(UV) pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	--no-emit-index-url --no-emit-find-links --no-header --no-annotate

lock: ## renew the pinned versions (needs uv and npm)
	$(LOCK) --upgrade pyproject.toml --extra server -o requirements.lock
	$(LOCK) --upgrade pyproject.toml --extra server --extra dev -c requirements.lock -o requirements-dev.lock
	$(LOCK) --upgrade requirements-tools.in -o requirements-tools.lock
	$(LOCK) --upgrade docs/requirements.in -o docs/requirements.lock
	npm install --package-lock-only --cache .cache/npm

.PHONY: help demo test check test-long torture bench bench-peers docs dist prepare prepare-tests clean lock
