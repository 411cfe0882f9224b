#!/bin/sh
# Creates .venv-clients with the clients of scripts/clients.txt that `make test-clients` runs, each in a folder of its
# own: npm's under a prefix, Python's in a venv. The first time takes some minutes and about 3 GB; it is instant when
# nothing changed. CLIENTS="codex pi" leaves these out, CLIENTS=none all.
set -eu
cd "$(dirname "$0")/.."
. scripts/python.sh

home=.venv-clients
[ "${CLIENTS:-}" = none ] && exit 0

# `older VERSION`: sets PY to an interpreter that a client takes which needs a Python less than VERSION.
older() {
    [ "$1" = - ] && find_python && return
    for PY in "${PYTHON:-python3}" python3 python3.12 python3.11; do
        "$PY" -c "import sys; sys.exit(not (3, 11) <= sys.version_info[:2] < tuple(map(int, '$1'.split('.'))))" \
            >/dev/null 2>&1 && return
    done
    fail "$name needs a Python less than $1: install one, or leave it out with CLIENTS=\"$name\""
}

from_npm() {
    command -v npm >/dev/null || fail "$name needs npm (apt install npm), or leave it out with CLIENTS=\"$name\""
    # What a package runs after its installation is run by name below: newer npm runs nothing by itself.
    # shellcheck disable=SC2086
    npm install --prefix "$1" --ignore-scripts --no-audit --no-fund --loglevel error $2 >/dev/null ||
        fail "$name could not be installed; leave it out with CLIENTS=\"$name\""
    for script in @anthropic-ai/claude-code/install.cjs opencode-ai/postinstall.mjs node/installArchSpecificPackage.js; do
        [ ! -f "$1/node_modules/$script" ] || (cd "$1/node_modules/${script%/*}" && node "./${script##*/}" >/dev/null)
    done
}

from_pypi() {
    need_venv_module
    "$PY" -m venv "$1"
    # shellcheck disable=SC2086
    PIP_DISABLE_PIP_VERSION_CHECK=1 "$1/bin/python" -m pip install -q $2 ||
        fail "$name could not be installed; leave it out with CLIENTS=\"$name\""
}

while read -r name registry less wanted; do
    case $name in '' | '#'*) continue ;; esac
    case " ${CLIENTS:-} " in *" $name "*) continue ;; esac
    into=$home/$name
    [ -f "$into/installed" ] && [ "$(cat "$into/installed")" = "$wanted" ] && continue
    echo "ctxtui: installing $wanted into $into"
    rm -rf "$into"
    mkdir -p "$into"
    case $registry in
    npm) from_npm "$into" "$wanted" ;;
    pypi) older "$less" && from_pypi "$into" "$wanted" ;;
    *) fail "scripts/clients.txt: no registry $registry" ;;
    esac
    printf '%s\n' "$wanted" >"$into/installed"
done <scripts/clients.txt
