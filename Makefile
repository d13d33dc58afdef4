# Each command sets up what it needs: a virtual environment in .venv. uv fills it in half a minute, and where uv cannot
# be had or reaches no packages, pip does in some minutes.
PYTHON ?= python3
BIN := .venv/bin
ready := .venv/.ready
BEGAN := $(shell date +%s)
LOWEST := .venv-lowest
LOWEST_CORE := --ignore tests/files/test_damage.py tests/cli tests/files tests/notation tests/scoring/test_paper.py tests/scoring/test_acceptance.py tests/scoring/test_against_brute_force.py
LOWEST_EXTRAS := tests/runs/test_models.py tests/runs/test_inspect.py tests/runs/test_serve.py tests/report/test_report.py tests/testing/test_scout.py

install_with_pip = $(PYTHON) -m pip --python $(BIN)/python install --quiet --disable-pip-version-check $(1)
install = $(BIN)/uv pip install --quiet --python $(BIN)/python $(1) || $(install_with_pip)

# Many tests start a Python of their own: where containers turn bytecode off, each would compile all modules anew.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: run about-run test about-test static tests browser bench peers cluster lowest clean

# Where the local model cannot be fetched, corepath says so and ends with 3: the rest is run and shown all the same.
run: about-run $(ready)
	@into=runs/$$(date +%Y-%m-%d-%H%M%S) && \
	$(BIN)/corepath run --out $$into/built-in && echo && \
	{ $(BIN)/corepath run --model local --limit 1 --out $$into/local || [ $$? -eq 3 ]; } && \
	$(BIN)/corepath report $$into/* --out $$into/report

about-run:
	@echo "Runs the built-in agents on all tasks, then a small model on this machine, and writes a report into runs/."
	@echo "About 4 minutes on two cores; the first time it also fetches packages and the model (93 MB)."

test: about-test $(ready) browser
	@$(MAKE) --no-print-directory -j 2 static tests
	@echo "make test took $$(( $$(date +%s) - $(BEGAN) )) seconds, set-up included"

static:
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports
	$(BIN)/mypy

# On a new machine nothing is compiled yet: the tests are collected once, or each worker would compile all of them.
tests:
	@$(BIN)/pytest --collect-only --quiet >/dev/null || true
	$(BIN)/pytest -n 3 --dist worksteal

about-test:
	@echo "Checks format, lint, types and layers, then runs all tests; pages are looked at in chromium where it is there."
	@echo "About 9 minutes on two cores; the first time it also fetches packages."

bench: $(ready) lowest peers cluster
	$(BIN)/python -m benchmarks
	$(BIN)/pytest -n 2 --long

# Other programs for comparison, in an environment of their own: pm4py is AGPL, and none is a dependency.
peers: .venv-peers/.ready

.venv-peers/.ready:
	@$(PYTHON) -m venv --clear $(@D)
	@$(@D)/bin/python -m pip install --quiet --disable-pip-version-check agentevals aalpy pm4py
	@touch $@

# The page about clusters on Spark and Ray, which take most of a GB: they have an environment of their own. Spark needs
# Java, as in Debian's package default-jre-headless.
cluster: .venv-cluster/.ready
	@command -v java >/dev/null || { echo "Spark needs Java: install it, e.g. apt-get install default-jre-headless"; exit 1; }
	.venv-cluster/bin/python -m pytest tests/batch/test_cluster.py tests/test_docs.py -k "engine or cluster"

.venv-cluster/.ready: pyproject.toml constraints.txt
	@$(PYTHON) -m venv --clear $(@D)
	@$(@D)/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[batch]' \
		duckdb hypothesis pandas pyspark pytest 'ray[data]'
	@touch $@

# The tests of the command line and the kernel with the lowest versions that pyproject.toml allows, then those of the
# extras with theirs. They stand apart: an extra may ask for a newer version than the package itself does. With Python
# 3.11, the lowest: old versions have no wheels for new Pythons.
lowest: $(LOWEST)/core/.ready $(LOWEST)/extras/.ready
	$(LOWEST)/core/bin/python -m pytest -n 2 $(LOWEST_CORE)
	$(LOWEST)/extras/bin/python -m pytest -n 2 $(LOWEST_EXTRAS)

$(LOWEST)/%/.ready: pyproject.toml constraints.txt tests/lowest.py
	@$(PYTHON) -m venv --clear $(@D)
	@$(PYTHON) tests/lowest.py $* > $(@D)/requirements.txt
	@$(@D)/bin/python -m pip install --quiet --disable-pip-version-check --requirement $(@D)/requirements.txt --editable .
	@touch $@

# Tests look at pages in Debian's chromium: CI installs it and requires it, elsewhere they say that they are skipped. Its
# headless shell is quicker, and where Debian has none yet, the whole browser does.
browser:
	@if [ -n "$$CI" ] && ! command -v chromium-headless-shell >/dev/null 2>&1; then \
		as=$$([ "$$(id -u)" = 0 ] || echo sudo) && $$as apt-get update -qq && \
		for package in chromium-headless-shell chromium; do \
			$$as env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $$package >/dev/null && break; \
		done; \
	fi

$(ready): pyproject.toml constraints.txt tests/bfcl.txt hatch_build.py $(wildcard src/corepath/scoring/kernel.p*)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "corepath needs Python 3.11 or later; say which with PYTHON=python3.12"; exit 1; }
	@$(PYTHON) -m venv --without-pip .venv
	-@$(call install_with_pip,--constraint constraints.txt uv)
	@$(call install,--constraint constraints.txt --editable '.[dev]' pip)
	@$(call install,--constraint constraints.txt --no-deps --requirement tests/bfcl.txt)
	@touch $(ready)

clean:
	rm -rf .venv .venv-lowest .venv-peers .venv-cluster .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache dist
