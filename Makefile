# `make run` opens ctxtui, `make quick` checks what a change touches, `make test` everything. All install into .venv first.
# PYTHON=python3.12 chooses the interpreter, ARGS="..." goes to ctxtui, pytest or the benchmarks.

BIN = .venv/bin

.PHONY: seeds run test extras quick install lint types imports compiled unit format test-all test-core test-readers test-services test-screens \
    test-programs test-examples test-snapshot test-mcp clients test-clients client-table policies-table glossary keys man reference pictures docs faults bench samples constraints wheel clean

run: install
	@$(BIN)/ctxtui $(ARGS)

install:
	@PYTHON="$(PYTHON)" sh scripts/install.sh

# The types are checked beside the tests, from the first on: one processor compiles them, which is all that the other has to do.
test: install
	@$(MAKE) --no-print-directory -j2 lint imports
	@$(MAKE) --no-print-directory -j2 types unit

# What the change at hand touches, in under 40 seconds; ARGS="--since main" takes a whole branch.
quick: install
	@$(BIN)/python scripts/quick.py $(ARGS)

lint: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: install
	$(BIN)/mypy

imports: install
	$(BIN)/lint-imports

# One process compiles what is new among the tests, and reads it for Hypothesis, as each worker of pytest would for itself
# (for eight seconds of all tests; no worker writes it down where PYTHONDONTWRITEBYTECODE is set).
compiled: install
	@[ -z "$$(find tests -name '*.py' -newer tests/__pycache__ 2>&1 | head -n 1)" ] || { \
		PYTHONDONTWRITEBYTECODE= $(BIN)/pytest -q -n0 --collect-only > /dev/null && touch tests/__pycache__; }

unit: install compiled
	$(BIN)/pytest -n auto --dist worksteal $(ARGS)

format: install
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# Everything, slow tests and Hypothesis's thorough profile included, in parts that are run by themselves just as well,
# each in at most 40 minutes on two processors. EXTRAS=none leaves out the packages for a cluster and Parquet, SERVERS=none
# the model servers that are built for it, CLIENTS=none real clients, MCP=none real MCP servers.
test-all: test test-core test-readers test-services test-screens test-programs test-clients test-mcp test-examples test-snapshot docs

THOROUGH = HYPOTHESIS_PROFILE=thorough SERVERS="$(SERVERS)" $(BIN)/pytest -n auto

test-core: extras
	$(THOROUGH) tests/core tests/wire tests/tokens tests/cache tests/pricing tests/project tests/curation tests/analysis $(ARGS)

test-readers: extras
	$(THOROUGH) tests/transcripts tests/store tests/views tests/test_*.py $(ARGS)

test-services: extras
	[ "$(SERVERS)" = none ] || PYTHON="$(PYTHON)" sh scripts/install_servers.sh
	$(THOROUGH) tests/agent tests/attach tests/providers tests/offline tests/servers tests/services $(ARGS)

test-screens: extras
	$(THOROUGH) tests/tui $(ARGS)

test-programs: extras
	$(THOROUGH) tests/cli tests/faults tests/one_truth $(ARGS)

# Every example with its figures, the wheel installed into a fresh environment, and whether tests find planted defects.
test-examples: install
	$(BIN)/python scripts/planted.py
	@$(MAKE) --no-print-directory seeds ARGS="--json --check" > /dev/null
	sh scripts/try_wheel.sh

# What every command says of thirty small recordings, here and at AGAINST: no change of the code changes a figure unsaid.
AGAINST ?= HEAD^
test-snapshot: install
	$(BIN)/python scripts/snapshot.py --few --against $(AGAINST)

# What ctxtui needs only for a cluster and for Parquet, DuckDB, which reads such tables, and Google's own client: tests
# skip without them.
extras: install
	@[ "$(EXTRAS)" = none ] || \
		PIP_DISABLE_PIP_VERSION_CHECK=1 $(BIN)/python -m pip install -q -c constraints.txt -e ".[cluster,parquet]" duckdb google-genai

# Real MCP servers, two from npm and two from PyPI, in .venv-mcp: each by itself, then a task that is done with two of them.
# MCP=none leaves them out of test-all.
test-mcp: install
	@[ "$(MCP)" = none ] || PYTHON="$(PYTHON)" sh scripts/install_mcp_servers.sh
	@[ "$(MCP)" = none ] || REAL_MCP=1 $(BIN)/pytest -n0 tests/services/mcp/test_real_servers.py tests/services/mcp/test_real_task.py $(ARGS)

# The clients of scripts/clients.txt, of these versions, into .venv-clients.
clients:
	@PYTHON="$(PYTHON)" CLIENTS="$(CLIENTS)" sh scripts/install_clients.sh

# Each client against the offline provider, where nothing else can be reached; CLIENTS="codex pi" leaves these out.
test-clients: install clients
	REAL_CLIENTS=1 CLIENTS="$(CLIENTS)" $(BIN)/pytest -n 2 tests/clients $(ARGS)

# The table of clients in docs/formats.md, from what the tests find.
client-table: install clients
	REAL_CLIENTS=1 CLIENTS="$(CLIENTS)" CLIENTS_TABLE=write $(BIN)/pytest -n 2 tests/clients $(ARGS)

# The column of the cures in docs/policies.md, from the samples.
policies-table: install
	$(BIN)/python scripts/policies_table.py

# docs/keys.md, from the commands of the screens.
keys: install
	$(BIN)/python scripts/keys.py

# docs/man/ctxtui.1, from the commands; the wheel installs it.
man: install
	$(BIN)/python scripts/man.py

# docs/signs.md, from ctxtui/data/glossary.toml.
glossary: install
	$(BIN)/python scripts/glossary.py

# docs/options.md, the tables of settings and policies, and docs/llms.txt, from the code.
reference: install
	PYTHONPATH=. $(BIN)/python scripts/reference.py

# The pictures of the README and the documents, the recording and the asciicast, from the running program.
pictures: install
	$(BIN)/python scripts/pictures.py

# The documents as a site in build/site, which loads nothing from the network; every warning is an error.
docs: install
	PIP_DISABLE_PIP_VERSION_CHECK=1 $(BIN)/python -m pip install -q -c constraints.txt -e ".[docs]"
	$(BIN)/python scripts/build_site.py

# The table of docs/reliability.md, by running all of it; ARGS="--scale 0.1 --only kills,disk" for less.
faults: install
	$(BIN)/python -m tests.faults.table $(ARGS)

# The figures of the examples beside those of their authors; ARGS=--json, or ARGS=--write for docs/seeds.md. The folder
# seeds/ keeps their sessions: each row names the one that it opens.
seeds: install
	@$(BIN)/python scripts/seeds.py $(ARGS)

bench: install
	$(BIN)/python -m benchmarks $(ARGS)

samples: install
	$(BIN)/python -m sessions.make $(ARGS)

# constraints.txt anew, from what the bounds in pyproject.toml resolve to today.
constraints:
	@PYTHON="$(PYTHON)" sh scripts/constraints.sh

wheel:
	@PYTHON="$(PYTHON)" sh scripts/try_wheel.sh

clean:
	rm -rf seeds .venv .venv-servers .venv-clients .venv-mcp .mypy_cache .ruff_cache .import_linter_cache .hypothesis dist build
