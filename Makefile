# `make demo` runs the main job, `make test` all tests; each installs what it needs into .venv.
PYTHON ?= python3
PIP = .venv/bin/python -m pip install --quiet

.PHONY: demo test lint clean
demo: .venv/installed
	.venv/bin/orch demo

test: lint
	.venv/bin/python -m pytest -n 2

lint: .venv/installed
	.venv/bin/ruff check orchestrator providers tests examples
	.venv/bin/lint-imports

.venv/installed: pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "orch needs Python 3.11 or newer")'
	$(PYTHON) -m venv .venv
	$(PIP) -e '.[demo,test]'
	touch $@

clean:
	rm -rf .venv
