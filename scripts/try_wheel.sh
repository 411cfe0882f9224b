#!/bin/sh
# Builds the wheel, installs it into a fresh environment away from the checkout, and runs it there:
# what `pipx install .` and `uv tool install .` would do.
set -eu
cd "$(dirname "$0")/.."
. scripts/python.sh
find_python
need_venv_module
scratch=$(mktemp -d "${TMPDIR:-/tmp}/ctxtui-wheel.XXXXXX")
trap 'rm -rf "$scratch"' EXIT INT TERM
constraints="$(pwd)/constraints.txt"
export PIP_DISABLE_PIP_VERSION_CHECK=1
"$PY" -m pip wheel -q --no-deps -w "$scratch" .
"$PY" -m venv "$scratch/venv"
"$scratch/venv/bin/python" -m pip install -q -c "$constraints" "$scratch"/*.whl
cd "$scratch"
HOME="$scratch" "$scratch/venv/bin/ctxtui" --version
"$scratch/venv/bin/python" - <<'PYTHON'
from importlib.resources import files

data = files("ctxtui") / "data"
wanted = ["models.toml", "vocab/o200k_base.tiktoken.xz", "vocab/cl100k_base.tiktoken.xz", "vocab/NOTICE", "sessions"]
missing = [name for name in wanted if not (data / name).is_file() and not (data / name).is_dir()]
if missing:
    raise SystemExit(f"the wheel lacks ctxtui/data/{missing}")
print("wheel: data files present, samples:", len(list((data / "sessions").iterdir())))
PYTHON
