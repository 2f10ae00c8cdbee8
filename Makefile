# Everything people and CI run. `make` alone lists it.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
LOCK := requirements/dev.txt

.PHONY: help setup up test check tidy docs bench simulate plugin wheel format lock behaviours clean
help: ## list these
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /  make \1\t/' | expand -t 22

setup: $(VENV)/.made ## make the environment from the locked requirements
$(VENV)/.made: $(LOCK) pyproject.toml scripts/make_environment.sh
	@PYTHON="$(PYTHON)" sh scripts/make_environment.sh $(VENV) $(LOCK)
	@touch $@

up: setup ## a whole cluster in one process, shown live, until Ctrl-C
	@$(BIN)/eachnode up --nodes 6 --timing lifelike -f examples/fluentd.yaml

test: setup ## the whole test suite, recordings of the reference included
	$(BIN)/python -m pytest -n 2 --dist loadgroup

check: setup ## format, lint, types, import contracts, layout
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m scripts.tidy

tidy: setup ## what a machine can say about the layout, each rule with its reason
	$(BIN)/python -m scripts.tidy

docs: setup ## the documentation as a site of plain files in site/
	$(BIN)/python -m scripts.reference
	$(BIN)/python -m scripts.site

format: setup ## put the code into shape
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

simulate: setup ## every scenario with many seeds, on all cores: make simulate SEEDS=10000
	$(BIN)/eachnode simulate scenarios/*.yaml --seeds $(or $(SEEDS),100) --seed $(or $(SEED),1)

behaviours: setup ## which test covers which numbered behaviour; fails on a gap
	$(BIN)/python scripts/behaviours.py

bench: setup ## measure speed and memory beside the goals, and write the numbers down, in the README too (some twenty minutes)
	$(BIN)/eachnode bench --json benchmarks/results/$$(date -u +%Y-%m-%d)-$$(git rev-parse --short HEAD).json
	$(BIN)/python -m scripts.figures

lock: setup ## renew the locked requirements (they name no package index)
	$(BIN)/pip-compile -q --extra dev --generate-hashes --no-emit-index-url --no-emit-trusted-host --no-emit-find-links --allow-unsafe --strip-extras -o $(LOCK) pyproject.toml
	$(BIN)/pip-compile -q --constraint $(LOCK) --generate-hashes --no-emit-index-url --no-emit-trusted-host --no-emit-find-links --allow-unsafe --strip-extras -o requirements/run.txt pyproject.toml
	{ echo "# What building the package needs besides pip; the same lines as in dev.txt (tests/deploy keeps it so)."; sed -n '/^flit-core==/,/^    # via/{/^flit-core==/p;/^    --hash/p;}' $(LOCK); } > requirements/build.txt

wheel: setup ## dist/eachnode-….whl
	$(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps --no-build-isolation --no-index --wheel-dir dist .

plugin: setup ## dist/kubectl-eachnode.tar.gz and the manifest by which krew installs it; URI=… says from where
	$(BIN)/python scripts/plugin.py $(URI)

clean: ## remove the environment and caches
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache build dist
