#!/bin/sh
# Installs the wheel WHEEL (default: one that is built here) into a fresh environment of PYTHON, away from the checkout,
# as `pipx install` and `uv tool install` do, and runs tests/wheel on it: `scripts/try_wheel.sh [WHEEL]`.
set -eu
cd "$(dirname "$0")/.."
. scripts/python.sh
find_python
need_venv_module
scratch=$(mktemp -d "${TMPDIR:-/tmp}/ctxtui-wheel.XXXXXX")
trap 'rm -rf "$scratch"' EXIT INT TERM
export PIP_DISABLE_PIP_VERSION_CHECK=1
wheel=${1:-}
if [ -z "$wheel" ]; then
    "$PY" -m pip wheel -q --no-deps -w "$scratch" .
    wheel=$(echo "$scratch"/*.whl)
fi
"$PY" -m venv "$scratch/venv"
"$scratch/venv/bin/python" -m pip install -q --only-binary :all: -c constraints.txt "$wheel"
TRY_WHEEL="$scratch/venv" .venv/bin/pytest -n0 -rP --no-header tests/wheel
