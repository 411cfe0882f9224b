"""OpenAI Responses: each input item by itself (facts §4)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from ctxtui.core.canonical import Json
from ctxtui.offline.exchange import Refusal
from ctxtui.offline.json_shape import (
    ANY,
    ARRAY,
    MAP,
    OBJECT,
    ROWS,
    STRING,
    TEXT,
    Fields,
    Path,
    ShapeFault,
    ShapeField,
    members,
    needed,
    one_of,
    rows,
)
from ctxtui.offline.openai.validate_fields import object_refusals, spelled, worded, wrong_value
from ctxtui.offline.openai.validate_tools import tool_refusals

ROLES: Final = ("user", "assistant", "system", "developer")
_STATUS: Final = one_of("in_progress", "completed", "incomplete")
_PASSED_ON: Final = {"internal_chat_message_metadata_passthrough": MAP}
"""What Codex hangs on every item of its own (facts §13.2)."""
_ITEM: Final = {"type": TEXT, "id": TEXT, "status": _STATUS} | _PASSED_ON
_CALL: Final = _ITEM | {"call_id": needed(STRING), "caller": ANY}
_OUTPUT: Final = _CALL | {"output": needed(STRING, ARRAY), "name": TEXT}

_ITEMS: Final[dict[str, Fields]] = {
    "message": _ITEM
    | {
        "role": needed(STRING),
        "content": needed(STRING, ARRAY),
        "phase": one_of("commentary", "final_answer"),
    },
    "function_call": _CALL | {"name": needed(STRING), "arguments": needed(STRING), "namespace": TEXT},
    "function_call_output": _OUTPUT,
    "custom_tool_call": _CALL | {"name": needed(STRING), "input": needed(STRING), "namespace": TEXT},
    "custom_tool_call_output": _OUTPUT,
    "reasoning": _ITEM | {"summary": needed(ARRAY), "content": ROWS, "encrypted_content": TEXT},
    "item_reference": {"type": TEXT, "id": needed(STRING)},
    "compaction": _ITEM | {"encrypted_content": needed(STRING)},
    "compaction_trigger": {"type": TEXT},
    "additional_tools": _ITEM | {"role": one_of("developer"), "tools": needed(ARRAY)},
    "agent_message": _ITEM
    | {"author": needed(STRING), "recipient": needed(STRING), "content": needed(ARRAY), "agent": MAP},
    "configuration_update": _ITEM | {"reasoning": MAP, "text": MAP},
}
_HOSTED: Final = tuple(
    "tool_search_call tool_search_output web_search_call file_search_call code_interpreter_call computer_call "
    "computer_call_output shell_call shell_call_output local_shell_call local_shell_call_output apply_patch_call "
    "apply_patch_call_output mcp_list_tools mcp_call mcp_approval_request mcp_approval_response "
    "image_generation_call program program_output".split()
)
"""Items of the provider's own tools, whose fields are not judged."""

KINDS: Final = (*_ITEMS, *_HOSTED)
_PREFIX: Final = {"message": "msg", "function_call": "fc", "reasoning": "rs", "custom_tool_call": "ctc"}
_MARK: Final = {"type": needed(STRING), "prompt_cache_breakpoint": MAP}
_INPUT: Final[dict[str, Fields]] = {
    "input_text": _MARK | {"text": needed(STRING)},
    "input_image": _MARK | {"image_url": TEXT, "file_id": TEXT, "detail": one_of("auto", "low", "high", "original")},
    "input_file": _MARK | {"file_id": TEXT, "file_data": TEXT, "filename": TEXT, "file_url": TEXT, "detail": TEXT},
    "input_audio": _MARK | {"input_audio": needed(OBJECT)},
}
_SAID: Final[dict[str, Fields]] = {
    "output_text": {"type": needed(STRING), "text": needed(STRING), "annotations": ROWS, "logprobs": ROWS},
    "refusal": {"type": needed(STRING), "refusal": needed(STRING)},
}
_ANSWERED: Final = {name: _INPUT[name] for name in ("input_text", "input_image", "input_file")}
_BETWEEN_AGENTS: Final[dict[str, Fields]] = {name: _INPUT[name] for name in ("input_text", "input_image")} | {
    "encrypted_content": {"type": needed(STRING), "encrypted_content": needed(STRING)}
}


def kind_of(item: Mapping[str, Json]) -> str:
    """An item's type; one without is a message."""
    return str(item.get("type") or "message")


def item_refusals(item: Json, n: int) -> Iterator[Refusal]:
    """What is wrong with input item `n` by itself."""
    path: Path = ("input", n)
    if not isinstance(item, dict):
        yield worded(ShapeFault("type", path, ShapeField((OBJECT,)), item))
        return
    kind = kind_of(item)
    if kind not in KINDS:
        yield wrong_value(kind, KINDS, f"input[{n}]")
        return
    if kind in _ITEMS:
        yield from object_refusals(item, _ITEMS[kind], path)
    begin = _PREFIX.get(kind)
    id_ = item.get("id")
    if begin and isinstance(id_, str) and not id_.startswith(begin):
        told = f"Invalid 'input[{n}].id': '{id_}'. Expected an ID that begins with '{begin}'."
        yield Refusal(told, param=f"input[{n}].id", code="invalid_value", rule="item id")
    if kind == "message":
        yield from _message(item, n)
    elif kind in ("function_call_output", "custom_tool_call_output"):
        yield from _parts(item.get("output"), ("input", n, "output"), _ANSWERED)
    elif kind == "agent_message":
        yield from _parts(item.get("content"), ("input", n, "content"), _BETWEEN_AGENTS)
    elif kind == "additional_tools":
        for m, tool in enumerate(rows(item.get("tools"))):
            yield from tool_refusals(tool, ("input", n, "tools", m))


def _message(item: Mapping[str, Json], n: int) -> Iterator[Refusal]:
    role = item.get("role")
    if isinstance(role, str) and role not in ROLES:
        yield wrong_value(role, ROLES, f"input[{n}].role")
        return
    yield from _parts(item.get("content"), ("input", n, "content"), _SAID if role == "assistant" else _INPUT)


def _parts(content: Json, path: Path, known: Mapping[str, Fields]) -> Iterator[Refusal]:
    for m, part in enumerate(rows(content)):
        kind = members(part).get("type")
        if not isinstance(kind, str) or kind not in known:
            yield wrong_value(str(kind), tuple(known), spelled((*path, m)))
        else:
            yield from object_refusals(part, known[kind], (*path, m))
