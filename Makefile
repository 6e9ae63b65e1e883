# SPDX-License-Identifier: Apache-2.0
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.SUFFIXES:
MAKEFLAGS += --no-builtin-rules

PYTHON ?= $(shell for python in python3.11 python3.12 python3.13 python3; do \
	$$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo $$python; break; }; done)
BUILD := $(CURDIR)/build
DEV := $(BUILD)/venv/.made
PLAY := $(BUILD)/play-venv/.made

# Nothing reads or writes the user's own Ansible folder.
export ANSIBLE_CONFIG := $(CURDIR)/ansible.cfg
export ANSIBLE_HOME := $(BUILD)/ansible-home
export ANSIBLE_COLLECTIONS_PATH := $(BUILD)/collections
export ANSIBLE_REMOTE_TMP := $(BUILD)/ansible-home/tmp
export ANSIBLE_ASYNC_DIR := $(BUILD)/ansible-home/async
export PYTHONDONTWRITEBYTECODE := 1
# Ansible flushes nothing: whoever reads through a pipe, as CI does, would see no progress.
export PYTHONUNBUFFERED := 1
export HYPOTHESIS_STORAGE_DIRECTORY := $(BUILD)/hypothesis
export PYTHONPATH := $(CURDIR):$(BUILD)/py

# The names of the library and of the packages beside it, as setup.py maps them.
NAMES := paddleflow_core:plugins/module_utils/_core paddleflow_fuse:fuse_agent paddleflow_csi:csi \
	paddleflow_controllers:controllers paddleflow:client

# Plays run from the collection as a user installs it, not from the checkout.
INSTALLED := $(BUILD)/installed
installed_play = ANSIBLE_COLLECTIONS_PATH=$(INSTALLED) PYTHONPATH= $(BUILD)/play-venv/bin/ansible-playbook
dev = PATH="$(BUILD)/venv/bin:$$PATH" $(BUILD)/venv/bin
# Tests start a thousand processes of ours, which need not be compiled each time.
compiled = PYTHONDONTWRITEBYTECODE= PYTHONPYCACHEPREFIX=$(BUILD)/pycache

CHECKS ?=
ARGS ?=
TESTS ?=

.PHONY: help
help: ## Say what each target does
	@sed -nE 's/^([a-z-]+):.*## (.*)$$/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 24

# --- what the collection does -------------------------------------------------------------------

.PHONY: quickstart
quickstart: $(PLAY) ## Start a cluster with everything on it (ARGS=--check only says what would be done)
	@$(BUILD)/play-venv/bin/python -m tools.collection --install $(INSTALLED)
	$(installed_play) paddleflow.core.quickstart $(ARGS)

.PHONY: verify
verify: $(PLAY) ## Prove that what quickstart installed works, in a table
	@$(BUILD)/play-venv/bin/python -m tools.collection --install $(INSTALLED)
	$(installed_play) paddleflow.core.verify $(ARGS)

.PHONY: stop
stop: $(PLAY) ## Stop what quickstart made and keep its data; make quickstart starts it again
	@$(BUILD)/play-venv/bin/python -m tools.collection --install $(INSTALLED)
	$(installed_play) paddleflow.core.reset -e cluster_state=stopped $(ARGS)

.PHONY: down
down: $(PLAY) ## Stop and remove what quickstart made; the caches of what was compiled stay
	@$(BUILD)/play-venv/bin/python -m tools.collection --install $(INSTALLED)
	$(installed_play) paddleflow.core.reset $(ARGS)

# --- checks, from the fastest up ----------------------------------------------------------------

.PHONY: test
test: env deps ## Run everything: lint, unit, agent, api, cluster, molecule; ends with a table
	@$(dev)/python -m tools.stages $(STAGES)

.PHONY: test-extended
test-extended: env deps ## Run everything, with the tests that are too heavy for every change
	@tools/system-packages btrfs-progs default-jre-headless krb5-admin-server krb5-kdc
	@PADDLEFLOW_EXTENDED=1 $(dev)/python -m tools.stages $(STAGES)

.PHONY: lint
lint: env ## Check the tree without running it (CHECKS="ruff mypy" runs some)
	@$(dev)/python -m tools.lint $(CHECKS)

.PHONY: unit
unit: env ## Run the Go and Python tests that need nothing but a processor
	@$(dev)/python -m tools.go test
	@$(compiled) $(dev)/pytest -n 2 --dist loadfile $(if $(TESTS),,$(FULL_COVERAGE)) $(or $(TESTS),tests/unit)

# Of the whole suite only: a part of it cannot cover everything.
FULL_COVERAGE := --cov=paddleflow_core.model --cov=paddleflow_core.plan --cov=paddleflow_core.workflow --cov-branch --cov-fail-under=100

SLOWEST := --durations=15 --durations-min=10

.PHONY: agent
agent: env deps ## Run the tests of the agent against real stores
	@$(compiled) $(dev)/pytest -n 2 $(SLOWEST) $(or $(TESTS),tests/agent)

.PHONY: api
api: env installed ## Run the tests against a real kube-apiserver with etcd
	@$(compiled) $(dev)/pytest -n 2 --dist loadfile --no-loadscope-reorder $(SLOWEST) $(or $(TESTS),tests/api)

.PHONY: cluster
cluster: env deps installed ## Run the tests against a real node, started by the product's own playbook
	@$(dev)/pytest -n 2 $(SLOWEST) $(or $(TESTS),tests/cluster)

.PHONY: molecule
molecule: env deps installed ## Converge the quickstart twice and verify it
	@$(dev)/molecule test -s default || { code=$$?; $(dev)/molecule cleanup -s default; exit $$code; }

.PHONY: bench
bench: bench-ground bench-modules bench-agent ## Run every benchmark

.PHONY: bench-ground
bench-ground: env deps installed ## Measure how fast a cluster comes up, and its cost when idle (ARGS=--cold compiles all)
	@$(dev)/python -m tests.bench.ground $(ARGS)

.PHONY: bench-modules
bench-modules: env deps ## Measure our modules beside kubernetes.core's (ARGS="--rounds 1 --scale 0.1" for a quick look)
	@$(dev)/python -m tests.bench.modules $(ARGS)

.PHONY: bench-agent
bench-agent: env deps ## Measure the file system beside its peers (ARGS=--quick only tries it)
	-@tools/system-packages s3fs
	@$(dev)/python -m tests.bench.agent $(ARGS)

# --- what is derived ----------------------------------------------------------------------------

.PHONY: generate
generate: env ## Write what is derived from the model (crds/)
	@$(dev)/python -m tools.generate

.PHONY: docs
docs: env ## Check what roles and modules say of themselves, and build the reference into build/docs
	@$(dev)/python -m tools.lint docs

.PHONY: collection
collection: env ## Build the complete collection tarball into build/collection
	@$(dev)/python -m tools.collection

.PHONY: installed
installed: env ## Install the collection, built from the tree, into build/installed
	@$(dev)/python -m tools.collection --install $(INSTALLED)

.PHONY: lock
lock: env ## Resolve locks/*.txt anew, with hashes
	@for name in dev play image-build; do $(lock) locks/$$name.in --output-file locks/$$name.txt; done
	@$(lock) --extra all pyproject.toml --output-file locks/image.txt
	@$(lock) --extra sources --extra hdfs --extra sftp --extra vault --constraint locks/image.txt pyproject.toml locks/agent.in --output-file locks/agent.txt
	@$(lock) --no-deps --constraint locks/image.txt locks/agent-pyfuse3.in --output-file locks/agent-pyfuse3.txt

lock = $(BUILD)/venv/bin/uv pip compile --quiet --upgrade --python-version 3.11 --generate-hashes --custom-compile-command "make lock"

# --- what the targets need ----------------------------------------------------------------------

.PHONY: deps
deps: ## Install the distribution's packages that the checks need (as root; else it says which)
	@tools/system-packages

# pyfuse3 has no wheel, and is compiled.
$(DEV): locks/dev.txt
	@tools/system-packages --only gcc libc6-dev libfuse3-dev pkg-config
	@$(call make_environment,venv,$<)
	@touch $@

# The names by which the checks and tests import the tree.
.PHONY: env
env: $(DEV)
	@mkdir -p $(BUILD)/py $(BUILD)/collections/ansible_collections/paddleflow
	@ln -sfn ../../../.. $(BUILD)/collections/ansible_collections/paddleflow/core
	@for name in $(NAMES); do folder=$${name#*:}; \
		if [ -f $$folder/__init__.py ]; then ln -sfn ../../$$folder $(BUILD)/py/$${name%%:*}; fi; done

$(PLAY): locks/play.txt
	@$(call make_environment,play-venv,$<)
	@touch $@

# An environment is made anew when its lock changes, so that it never holds what an earlier lock named.
define make_environment
[ -n "$(PYTHON)" ] || { echo "Python 3.11 or newer is needed; install it, or name it: make PYTHON=/path/to/python" >&2; exit 1; }; \
echo "making build/$(1) from $(2)"; \
rm -rf $(BUILD)/$(1); \
$(PYTHON) -m venv $(BUILD)/$(1) || { echo "Python has no venv: install the package python3-venv" >&2; exit 1; }; \
$(BUILD)/$(1)/bin/pip install --quiet --disable-pip-version-check --require-hashes --no-deps --requirement $(2)
endef
