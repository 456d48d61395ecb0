# make quick   the whole workflow at quick scale, from nothing but Python and make
# make test    every check and test that CI runs, but those on SLURM (make slurm-test)
.DEFAULT_GOAL := help
.PHONY: help install quick test faults slurm-test paper-runs site report gallery release format clean

CORES ?= 2
VENV := .venv
BIN := $(VENV)/bin
# The first of these that is Python 3.11 to 3.13; 'make PYTHON=/path/to/python quick' takes another.
PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11; do \
  $$p -c 'import ensurepip, sys, venv; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' 2>/dev/null && echo $$p && break; done)

help: ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 12

# Installed again whenever the pinned set or a C file changes. The stamp is made last, so that an interrupted
# installation is not taken for a whole one. pip would compile 16,000 modules, one after the other; only what
# the workflow imports is compiled.
$(VENV)/installed: envs/requirements.txt pyproject.toml setup.py $(wildcard src/replibo/*/*.c)
	@test -n "$(PYTHON)" || { echo "replibo needs Python 3.11 to 3.13 with venv (Debian: python3-venv); make PYTHON=/path/to/python ... names one"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile -r envs/requirements.txt -e '.[coco,robot,workflow,docs]'
	PYTHONDONTWRITEBYTECODE= $(BIN)/python -c 'from importlib import import_module; from replibo.forked import PLOTTING, RUNNING; [*map(import_module, [*PLOTTING, *RUNNING, "snakemake.cli"])]'
	touch $@

install: $(VENV)/installed ## .venv with the pinned packages, and nothing else

quick: $(VENV)/installed ## run the whole workflow at quick scale (no network, stand-in data; OPTIONS=-p: show all messages)
	$(BIN)/snakemake --cores $(CORES) quick $(OPTIONS)
	@echo && $(BIN)/python -m replibo.workflow.summary quick

test: $(VENV)/installed ## style, types, lint, tests, the whole workflow at smoke scale
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/snakefmt --check .
	$(BIN)/snakemake --lint
	$(BIN)/python -m pytest -n $(CORES) --dist loadfile --no-loadscope-reorder --durations 30

COUNT ?= 1000
SEED ?= 1-10
faults: $(VENV)/installed ## inject COUNT faults (SEED: seeds of where and when), compare all digests; table: docs/results/faults.md, sums: README.md
	$(BIN)/python tests/faults --count $(COUNT) --seeds $(SEED) --cores $(CORES) \
	  --report docs/results/faults.md --readme README.md

slurm-test: $(VENV)/installed ## the workflow on a real SLURM of one node, which it installs (Debian, root) and stops again
	$(BIN)/python -m pytest -m slurm tests/slurm

site: $(VENV)/installed ## the site of the published runs, with the reference of the package: results/published/site/index.html
	$(BIN)/snakemake --cores $(CORES) results/published/site/index.html

# docs/paper_scale.md explains it. MINUTES: stop after so long. AT_ONCE=1: no order, for many cores. OUT: a
# folder that gets runs, journals and published traces at the end. PROFILE=profiles/slurm: on a cluster.
# OPTIONS: of Snakemake, OPTIONS='--configfile my.yaml --set-resources "run:runtime=500 * attempt"'.
paper-runs: $(VENV)/installed ## carry the papers' own runs on, publish what is finished (PROFILE, MINUTES, AT_ONCE, OUT, OPTIONS)
	nice -n 19 $(BIN)/python -m replibo.workflow.paper_runs --cores $(CORES) $(if $(MINUTES),--minutes $(MINUTES)) \
	  $(if $(PROFILE),--profile $(PROFILE)) $(if $(AT_ONCE),--at-once) $(if $(OUT),--out $(OUT)) $(OPTIONS)

report: $(VENV)/installed ## HTML report of the published runs: results/published/report.html
	$(BIN)/snakemake --cores $(CORES) published
	$(BIN)/snakemake published --report results/published/report.html

gallery: $(VENV)/installed ## the figures that README shows, from the published traces
	$(BIN)/snakemake --cores $(CORES) published
	$(BIN)/python -m replibo.workflow.gallery

# Tag vVERSION, then upload all of dist/ as the assets of the release: the wheel fetches the zip files from there.
release: $(VENV)/installed ## dist/: the sdist, the wheel, and the published traces of each paper as a zip file
	$(BIN)/python -m pip install --quiet --disable-pip-version-check build
	rm -rf dist
	$(BIN)/python -m build
	for paper in published/*; do $(BIN)/python -m zipfile -c dist/published-$${paper#*/}.zip $$paper; done

format: $(VENV)/installed ## format Python and Snakemake files
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .
	$(BIN)/snakefmt .

clean: ## remove results and figures (downloads and published traces stay)
	rm -rf results logs .snakemake/log
	find figures -mindepth 1 -maxdepth 1 ! -name gallery -exec rm -rf {} +
