"""A stub of an MCP server over standard input and output: it lists tools and calls them."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from typing import Any

Given = dict[str, Any]


def serve(name: str, tools: Sequence[Given], call: Callable[[str, Given], str]) -> None:
    """Answer a message a line until the client leaves.

    `call` does a tool; a `ValueError`, `KeyError` or `OSError` of it becomes the error of that call.
    """
    for line in sys.stdin:
        message = json.loads(line)
        if "id" not in message or "method" not in message:
            continue
        answer: Given = {"jsonrpc": "2.0", "id": message["id"]}
        params = message.get("params") or {}
        match message["method"]:
            case "initialize":
                about = {"capabilities": {"tools": {}}, "serverInfo": {"name": name, "version": "1"}}
                answer["result"] = {"protocolVersion": params["protocolVersion"], **about}
            case "tools/list":
                answer["result"] = {"tools": tools}
            case "tools/call":
                answer["result"] = _result(call, params)
            case "ping":
                answer["result"] = {}
            case method:
                answer["error"] = {"code": -32601, "message": f"Method not found: {method}"}
        print(json.dumps(answer), flush=True)


def _result(call: Callable[[str, Given], str], params: Given) -> Given:
    try:
        text, failed = call(params["name"], params.get("arguments") or {}), False
    except (ValueError, KeyError, OSError) as error:
        text, failed = f"Error: {error}", True
    return {"content": [{"type": "text", "text": text}], "isError": failed}
