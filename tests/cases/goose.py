"""Sessions of Goose: as its exports have them, and as rows of its database."""

from __future__ import annotations

import json
from typing import Any

from ctxtui.transcripts.formats.goose.export import to_tables
from ctxtui.transcripts.kit.readers import TABLES_KEY

AT = 1_790_000_000
SESSION = "20261130_1"
HIDDEN = {"userVisible": True, "agentVisible": False}


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def asks(id_: str, command: str) -> dict[str, Any]:
    call = {"name": "shell", "arguments": {"command": command}}
    meta = {"goose_extension": "developer"}
    return {"type": "toolRequest", "id": id_, "toolCall": {"status": "success", "value": call}, "_meta": meta}


def gives(id_: str, words: str) -> dict[str, Any]:
    structured = {"stdout": words, "stderr": "", "exit_code": 0}
    value = {"content": [text(words)], "structuredContent": structured, "isError": False}
    return {"type": "toolResponse", "id": id_, "toolResult": {"status": "success", "value": value}}


def message(number: int, role: str, *parts: dict[str, Any], **metadata: Any) -> dict[str, Any]:
    known = {"userVisible": True, "agentVisible": True, **metadata}
    return {"id": f"msg_{number}", "role": role, "created": AT + number, "content": list(parts), "metadata": known}


def export(*conversation: dict[str, Any]) -> dict[str, Any]:
    """A session whose last call had 5,000 tokens of input; all of them 30,000."""
    return {
        "id": SESSION,
        "working_dir": "/shop",
        "name": "Mend the shop",
        "user_set_name": False,
        "session_type": "user",
        "created_at": "2026-11-30T12:37:17Z",
        "updated_at": "2026-11-30T12:37:20Z",
        "extension_data": {"enabled_extensions.v0": {"extensions": [{"type": "platform", "name": "todo"}]}},
        "total_tokens": 5055,
        "input_tokens": 5000,
        "output_tokens": 55,
        "accumulated_total_tokens": 30550,
        "accumulated_input_tokens": 30000,
        "accumulated_output_tokens": 550,
        "accumulated_cost": 0.25,
        "schedule_id": None,
        "recipe": None,
        "user_recipe_values": None,
        "conversation": list(conversation),
        "message_count": len(conversation),
        "provider_name": "anthropic",
        "model_config": {"model_name": "claude-sonnet-4-5", "context_limit": 200000},
        "goose_mode": "auto",
    }


def turn(n: int) -> list[dict[str, Any]]:
    """A question, an answer with a call, whose parts are messages of their own, and one without."""
    at = 10 * n
    return [
        message(at, "user", text(f"question {n}")),
        message(at + 1, "assistant", text(f"I look, {n}.")),
        message(at + 2, "assistant", asks(f"call_{n}", f"do {n}")),
        message(at + 3, "user", gives(f"call_{n}", f"output {n} {n}")),
        message(at + 4, "assistant", text(f"It is {n}.")),
    ]


def shop(turns: int = 3) -> dict[str, Any]:
    return export(*(one for n in range(1, turns + 1) for one in turn(n)))


def dump(value: dict[str, Any]) -> bytes:
    """The export."""
    return json.dumps(value, indent=2).encode()


def rows(value: dict[str, Any]) -> bytes:
    """The session as rows of the database, whose columns of JSON are texts."""
    tables = {"schema_version": [{"version": 9}], **to_tables(value | {"description": ""})}
    lines: list[Any] = [{TABLES_KEY: list(tables)}]
    for table, found in tables.items():
        for row in found:
            columns = {key: json.dumps(one) if isinstance(one, dict | list) else one for key, one in row.items()}
            lines.append({"table": table, "row": columns})
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)
