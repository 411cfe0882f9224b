#!/bin/sh
# Creates .venv and installs ctxtui with its development tools, at the versions of constraints.txt.
# Instant when nothing changed: the stamp in .venv names what the installation was made from.
set -eu
cd "$(dirname "$0")/.."
. scripts/python.sh

stamp=.venv/ctxtui-installed
key="$(cat pyproject.toml constraints.txt scripts/install.sh | cksum) $(pwd)"

up_to_date() {
    [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$key" ] && new_enough .venv/bin/python
}

same_python() {
    [ -z "${PYTHON:-}" ] && return 0
    want=$("$PYTHON" -c 'import sys; print(sys.version)' 2>/dev/null) || return 1
    [ "$want" = "$(.venv/bin/python -c 'import sys; print(sys.version)' 2>/dev/null)" ]
}

if up_to_date && same_python; then
    exit 0
fi
find_python
need_venv_module
if [ -d .venv ] && ! { new_enough .venv/bin/python && same_python && .venv/bin/python -m pip --version >/dev/null 2>&1; }; then
    rm -rf .venv
fi
echo "ctxtui: installing into .venv (the first time takes about a minute)"
[ -d .venv ] || "$PY" -m venv .venv
rm -f "$stamp"
export PIP_DISABLE_PIP_VERSION_CHECK=1
# The pip that came with an older Python compares each file of an index with a thousand tags: half of what it needs.
.venv/bin/python -m pip install -q --no-compile -U "pip>=24" || :
# A checkout of before 1.0 has it under the distribution's former name: two would own one command.
for former in .venv/lib/python3*/site-packages/ctxtui-[0-9]*.dist-info; do
    [ ! -d "$former" ] || .venv/bin/python -m pip uninstall -q -y ctxtui
done
.venv/bin/python -m pip install -q --no-compile -c constraints.txt -e ".[dev,mcp,code,forward,keyring]"
# Compiled here once, on all processors, where pip takes one: an editable package is else compiled at every start where
# Python may not write next to it. What cannot be compiled says so when it is imported. A third is left out that nobody
# imports while working: tests of others, installers, what is there as machine code too.
unused='/(tests|pip|setuptools|pkg_resources|mypy|mypyc)/'
.venv/bin/python -m compileall -q -j 0 -x "$unused" ctxtui .venv/lib/python3*/site-packages >/dev/null || :
printf '%s\n' "$key" >"$stamp"
