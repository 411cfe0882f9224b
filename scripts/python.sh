# Sourced by the other scripts: sets PY to an interpreter of at least Python 3.11, or says what is missing and stops.

fail() {
    printf 'ctxtui: %s\n' "$*" >&2
    exit 1
}

new_enough() {
    "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1
}

find_python() {
    if [ -n "${PYTHON:-}" ]; then
        new_enough "$PYTHON" || fail "PYTHON=$PYTHON is not a Python >= 3.11"
        PY=$PYTHON
        return
    fi
    for PY in python3 python3.14 python3.13 python3.12 python3.11; do
        new_enough "$PY" && return
    done
    found=$(python3 -c 'import platform; print(platform.python_version())' 2>/dev/null || echo "none")
    fail "needs Python >= 3.11 (python3 here: $found); install one or name it: make PYTHON=/path/to/python3.12"
}

need_venv_module() {
    "$PY" -c 'import venv, ensurepip' >/dev/null 2>&1 && return
    version=$("$PY" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
    fail "$PY has no venv module; install it: apt install python$version-venv (or python3-venv), then run make again"
}
