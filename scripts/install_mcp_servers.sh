#!/bin/sh
# Creates .venv-mcp with the MCP servers that `make test-mcp` talks to: two from npm, two from PyPI.
# It is instant when nothing changed.
set -eu
cd "$(dirname "$0")/.."
. scripts/python.sh

stamp=.venv-mcp/installed
python_servers="mcp-server-time==2026.10.19 mcp-server-fetch==2026.10.24"
node_servers="@modelcontextprotocol/server-filesystem@2026.8.31 @modelcontextprotocol/server-memory@2026.8.31"
wanted="$python_servers $node_servers"
[ -f "$stamp" ] && [ "$(cat "$stamp")" = "$wanted" ] && exit 0
find_python
need_venv_module
command -v npm >/dev/null || fail "npm is needed for the MCP servers (apt install npm), or leave these tests out with MCP=none"
echo "ctxtui: installing MCP servers into .venv-mcp (once)"
rm -rf .venv-mcp
"$PY" -m venv .venv-mcp
# shellcheck disable=SC2086
PIP_DISABLE_PIP_VERSION_CHECK=1 .venv-mcp/bin/python -m pip install -q $python_servers
# shellcheck disable=SC2086
npm install --silent --ignore-scripts --no-audit --no-fund --prefix .venv-mcp/node $node_servers
printf '%s\n' "$wanted" >"$stamp"
