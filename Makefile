# make demo    the main job on a simulated host; make demo-tui: the terminal UI on one
# make hosts   ways in, sudo, and files as they lie, on real hosts (root, some minutes)
# make matrix  every interruption between and inside the actions of the main job, on real hosts (root, 45 min)
# make fire    what else must hold under fire, with figures: stops, cut links, guards, fleets (root, half an hour)
# make test    everything that is checked; REAL_HOSTS=required, REAL_ENGINE=required: what is missing fails, not skips
# make engine  a real engine on the CPU, which some tests measure when it is there
PYTHON ?= python3
WORKERS ?= 3
TESTS ?= tests
VENV := .venv
IN := $(VENV)/bin
READY := $(VENV)/.ready

export REAL_HOSTS REAL_ENGINE
export PIP_DISABLE_PIP_VERSION_CHECK = 1

.PHONY: hosts engine matrix fire walk demo demo-tui story lab test check clean

demo: $(READY)
	$(IN)/console demo $(if $(FAULT),--fault $(FAULT))

# The terminal UI on a simulated host with three services, one of them down.
demo-tui: $(READY)
	$(IN)/console demo --tui

# Every action of the terminal UI's help screens, by keys, in tmux, on what demo-tui opens; three minutes.
walk: $(READY)
	$(IN)/python -m tests.tui.demo_walk

# One night on a simulated host, in half a minute: a complaint, why, what fits, a change that is stopped and gone on with.
story: $(READY)
	$(IN)/console demo --story

# A simulated host that stays, until `make lab ACTION=down`.
lab: $(READY)
	$(IN)/console lab $(or $(ACTION),up) $(if $(FAULT),--fault $(FAULT))

# Every interruption between any two events of the main job and inside each of its actions, on real hosts, as root;
# MATRIX="--cells change" for a part of it. `make test` plays that part and a tenth of the rest, always the same one.
# On a simulated host the process is killed after every event there is; `make test` does so after each kind of event.
matrix: $(READY)
	$(IN)/python -m tests.real.matrix $(MATRIX)
	CONSOLE_EVERY_KILL=1 $(IN)/python -m pytest tests/runner/test_killed.py

# What CI has no time for: every way in, sudo as fleets have it, and files as they lie.
hosts: $(READY)
	CONSOLE_BY_HAND=1 $(IN)/python -m pytest tests/real/test_access.py tests/real/test_sudo.py tests/real/test_whose_file.py \
		tests/real/test_own_drop_in.py tests/real/test_everyday.py tests/real/test_user_units.py \
		tests/real/test_attributes.py tests/real/test_mounts.py tests/real/test_userlands.py \
		tests/real/test_nodes.py tests/real/test_pairs_of_engines.py tests/runner/test_pair.py \
		tests/real/test_llama_server.py tests/real/test_compose.py

# Proofs on real hosts that no run of the tests can pay, as root; FIRE="pairs guards" for some of them.
fire: $(READY)
	$(IN)/python -m tests.real.fire $(FIRE)

test: check
	$(IN)/python -m pytest -n $(WORKERS) --dist loadgroup $(TESTS)

check: $(READY)
	$(IN)/ruff check
	$(IN)/ruff format --check
	$(IN)/mypy
	$(IN)/lint-imports --no-logo

# A real engine for tests/measure and bench/real_engine.py: llama.cpp's server for the CPU, from a wheel of 33 MB.
engine: $(READY)
	$(IN)/pip install -qq --require-hashes -r constraints-engine.txt

# Editable, so that what is tested and tried is what stands here; `pip install --no-deps .` installs for good.
$(READY): constraints.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "console needs Python 3.11 or newer")'
	$(PYTHON) -m venv --clear $(VENV)
	$(IN)/pip install -qq --require-hashes -r constraints.txt
	$(IN)/pip install -qq --no-deps --editable .
	@touch $@

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache build dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
