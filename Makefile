# `make demo` runs the main job, `make test` all tests; each installs what it needs into .venv.
PYTHON ?= python3
PIP = .venv/bin/python -m pip install --quiet

.PHONY: demo test soak lint lock clean
demo: .venv/installed
	.venv/bin/orch demo

test: lint
	.venv/bin/python -m pytest -n 2

# Minutes of kills and faults; a short version of each is in `make test`.
soak: .venv/installed
	.venv/bin/python -m pytest -m soak --timeout 3600 -s

lint: .venv/installed
	.venv/bin/ruff check orchestrator providers tests examples benchmarks
	.venv/bin/lint-imports
	.venv/bin/mypy

.venv/installed: pyproject.toml requirements.lock
	$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "orch needs Python 3.11 or newer")'
	$(PYTHON) -m venv .venv
	$(PIP) --require-hashes --requirement requirements.lock
	$(PIP) --no-deps --no-build-isolation --editable .
	touch $@

# What is installed here, and what travels to instances, as pyproject.toml and requirements.in allow it today.
LOCK = uv pip compile --quiet --upgrade --generate-hashes --no-header --default-index https://pypi.org/simple
lock:
	$(LOCK) pyproject.toml --universal --python-version 3.11 --extra demo --extra test --extra build -o requirements.lock
	$(LOCK) orchestrator/agent/requirements.in --python-version 3.10 --python-platform x86_64-unknown-linux-gnu \
	    -o orchestrator/agent/requirements.lock

clean:
	rm -rf .venv
