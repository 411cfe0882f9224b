#!/bin/sh
# Creates .venv-servers with the model servers that `make test-all` talks to: llama-cpp-python, built from its source.
# The first time takes some minutes and needs a C++ compiler; it is instant when nothing changed.
set -eu
cd "$(dirname "$0")/.."
. scripts/python.sh

stamp=.venv-servers/installed
wanted="llama-cpp-python[server]>=0.3.36,<0.4 gguf>=0.19,<0.20"
[ -f "$stamp" ] && [ "$(cat "$stamp")" = "$wanted" ] && exit 0
find_python
need_venv_module
echo "ctxtui: building llama-cpp-python into .venv-servers (once; some minutes)"
rm -rf .venv-servers
"$PY" -m venv .venv-servers
# Without what a model of text on a processor does not need.
export CMAKE_ARGS="${CMAKE_ARGS:--DLLAVA_BUILD=OFF -DMTMD_BUILD=OFF -DLLAMA_CURL=OFF -DLLAMA_OPENSSL=OFF -DGGML_OPENMP=OFF}"
# shellcheck disable=SC2086
PIP_DISABLE_PIP_VERSION_CHECK=1 .venv-servers/bin/python -m pip install -q $wanted ||
    fail "llama-cpp-python could not be built: it needs a C++ compiler (apt install g++), or leave these tests out with SERVERS=none"
printf '%s\n' "$wanted" >"$stamp"
