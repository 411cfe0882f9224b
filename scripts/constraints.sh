#!/bin/sh
# Writes constraints.txt: names and exact versions of everything that pyproject.toml's bounds resolve to today.
set -eu
cd "$(dirname "$0")/.."
. scripts/python.sh
find_python
need_venv_module
name=$(sed -n 's/^name = "\(.*\)".*/\1/p' pyproject.toml)
scratch=$(mktemp -d "${TMPDIR:-/tmp}/ctxtui-constraints.XXXXXX")
trap 'rm -rf "$scratch"' EXIT INT TERM
"$PY" -m venv "$scratch/venv"
PIP_DISABLE_PIP_VERSION_CHECK=1 "$scratch/venv/bin/python" -m pip install -q ".[dev,mcp,code,forward,keyring]"
{
    echo "# Names and exact versions; made by \`make constraints\`. The bounds stand in pyproject.toml."
    "$scratch/venv/bin/python" -m pip list --format=freeze --exclude "$name" | grep -v -E "^(pip|setuptools|wheel)==" | LC_ALL=C sort -f
} >"$scratch/constraints.txt"
cp "$scratch/constraints.txt" constraints.txt
wc -l constraints.txt
