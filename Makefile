# make quick   the whole workflow at quick scale, from nothing but Python and make
# make test    every check and test that CI runs, but those on SLURM (make slurm-test)
.DEFAULT_GOAL := help
.PHONY: help quick test faults slurm-test page report gallery schema format clean

CORES ?= 2
VENV := .venv
BIN := $(VENV)/bin
# The first of these that is Python 3.11 or newer; 'make PYTHON=/path/to/python quick' takes another.
PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11; do \
  $$p -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)

help: ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 12

# Installed again whenever the pinned set changes. The stamp is made last, so that an interrupted
# installation is not taken for a whole one.
$(VENV)/installed: envs/requirements.txt pyproject.toml
	@test -n "$(PYTHON)" || { echo "replibo needs Python 3.11 or newer with venv (Debian: python3-venv); make PYTHON=/path/to/python ... names one"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r envs/requirements.txt -e '.[coco,robot,workflow]'
	touch $@

quick: $(VENV)/installed ## run the whole workflow at quick scale (no network, stand-in data)
	$(BIN)/snakemake --cores $(CORES) quick
	@echo && $(BIN)/python -m replibo.workflow.summary quick

test: $(VENV)/installed ## style, types, lint, tests, the whole workflow at smoke scale
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/snakefmt --check .
	$(BIN)/snakemake --lint
	$(BIN)/python -m pytest -n $(CORES) --dist loadfile

COUNT ?= 1000
SEED ?= 1
faults: $(VENV)/installed ## inject COUNT faults (SEED: where and when), compare all digests; table: docs/results/faults.md
	$(BIN)/python tests/faults --count $(COUNT) --seed $(SEED) --report docs/results/faults.md

slurm-test: $(VENV)/installed ## the workflow on a real SLURM of one node, which it installs (Debian, root) and stops again
	$(BIN)/python -m pytest -m slurm tests/slurm

page: $(VENV)/installed ## the results page of the published runs: results/published/page/index.html
	$(BIN)/snakemake --cores $(CORES) results/published/page/index.html

report: $(VENV)/installed ## HTML report of the published runs: results/published/report.html
	$(BIN)/snakemake --cores $(CORES) published
	$(BIN)/snakemake published --report results/published/report.html

gallery: $(VENV)/installed ## the figures that README shows, from the published traces
	$(BIN)/snakemake --cores $(CORES) published
	$(BIN)/python -m replibo.workflow.gallery

schema: $(VENV)/installed ## the config's JSON schema, from the typed models
	$(BIN)/python -m replibo.config.schema workflow/schemas/config.schema.json

format: $(VENV)/installed ## format Python and Snakemake files
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .
	$(BIN)/snakefmt .

clean: ## remove results and figures (downloads and published traces stay)
	rm -rf results logs .snakemake/log
	find figures -mindepth 1 -maxdepth 1 ! -name gallery -exec rm -rf {} +
