"""Validates requests as OpenAI's Responses API does (facts §4).

It is written from the API's types and reports, and deliberately independent of `curation.legality.legality`: tests
compare the two.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from ctxtui.core.canonical import Json
from ctxtui.core.json_values import as_dict, as_list
from ctxtui.offline.exchange import Refusal
from ctxtui.offline.json_shape import Fields, Path, ShapeFault, ShapeField, fields, find_faults
from ctxtui.offline.openai.cipher import is_acceptable, was_changed
from ctxtui.offline.openai.models import Gpt, gpt
from ctxtui.offline.openai.validate_fields import (
    EFFORTS,
    FUNCTION,
    SHARED_FIELDS,
    choice_refusals,
    format_path,
    function_refusals,
    invalid,
    large_output,
    name_refusals,
    object_refusals,
    refusal_of_fault,
    sampling_refusals,
    stream_refusals,
    unsupported,
    wrong_value,
)

_CALLED: Final = fields("type! string, defer_loading boolean, allowed_callers array, async boolean")
_TOOL_FIELDS: Final[dict[str, Fields]] = {
    "function": FUNCTION | _CALLED | fields("output_schema"),
    "custom": _CALLED | fields("name! string, description string, format object"),
    "namespace": fields("type! string, name! string, description! string, tools! array"),
}
_CLIENT_TOOLS: Final = ("function", "custom")


def tool_refusals(tool: Json, path: Path) -> Iterator[Refusal]:
    """Refusals of the fields of one tool definition at `path`."""
    kind = as_dict(tool).get("type")
    if not isinstance(kind, str) or kind not in _TOOL_FIELDS:
        # Fields of the provider's own tools are not checked.
        yield from object_refusals({"type": kind}, fields("type! string"), path)
        return
    yield from object_refusals(tool, _TOOL_FIELDS[kind], path)
    if kind == "function":
        yield from function_refusals(tool, path, format_path((*path, "parameters")))
        return
    yield from name_refusals(tool.get("name"), format_path((*path, "name")))
    for n, inner in enumerate(as_list(tool.get("tools"))):
        inner_path = (*path, "tools", n)
        if as_dict(inner).get("type") not in _CLIENT_TOOLS:
            yield wrong_value(str(as_dict(inner).get("type")), _CLIENT_TOOLS, format_path((*inner_path, "type")))
        else:
            yield from tool_refusals(inner, inner_path)


def offered_tools(body: Mapping[str, Json], items: Sequence[Json]) -> list[Json]:
    """Tools of the request and of its ``additional_tools`` items, also in namespaces."""
    definitions = [*as_list(body.get("tools"))]
    for item in items:
        if as_dict(item).get("type") == "additional_tools":
            definitions += as_list(item.get("tools"))
    return [definition for tool in definitions for definition in (tool, *as_list(as_dict(tool).get("tools")))]


ROLES: Final = ("user", "assistant", "system", "developer")
# `internal_...`: Codex adds it to each of its own items (facts §13.2).
_ITEM: Final = fields(
    "type string, id string, status =in_progress|completed|incomplete, "
    "internal_chat_message_metadata_passthrough object"
)
_CALL: Final = _ITEM | fields("call_id! string, caller")
_OUTPUT: Final = _CALL | fields("output! string|array, name string")
_ITEMS: Final[dict[str, Fields]] = {
    "message": _ITEM | fields("role! string, content! string|array, phase =commentary|final_answer"),
    "function_call": _CALL | fields("name! string, arguments! string, namespace string"),
    "function_call_output": _OUTPUT,
    "custom_tool_call": _CALL | fields("name! string, input! string, namespace string"),
    "custom_tool_call_output": _OUTPUT,
    "reasoning": _ITEM | fields("summary! array, content array, encrypted_content string"),
    "item_reference": fields("type string, id! string"),
    "compaction": _ITEM | fields("encrypted_content! string"),
    "compaction_trigger": fields("type string"),
    "additional_tools": _ITEM | fields("role =developer, tools! array"),
    "agent_message": _ITEM | fields("author! string, recipient! string, content! array, agent object"),
    "configuration_update": _ITEM | fields("reasoning object, text object"),
}
_HOSTED: Final = tuple(
    "tool_search_call tool_search_output web_search_call file_search_call code_interpreter_call computer_call "
    "computer_call_output shell_call shell_call_output local_shell_call local_shell_call_output apply_patch_call "
    "apply_patch_call_output mcp_list_tools mcp_call mcp_approval_request mcp_approval_response "
    "image_generation_call program program_output".split()
)
"""Items of the provider's own tools, whose fields are not checked."""

KINDS: Final = (*_ITEMS, *_HOSTED)
_ID_PREFIXES: Final = {"message": "msg", "function_call": "fc", "reasoning": "rs", "custom_tool_call": "ctc"}
_MARK: Final = "type! string, prompt_cache_breakpoint object"
_INPUT: Final[dict[str, Fields]] = {
    "input_text": fields(f"{_MARK}, text! string"),
    "input_image": fields(f"{_MARK}, image_url string, file_id string, detail =auto|low|high|original"),
    "input_file": fields(f"{_MARK}, file_id string, file_data string, filename string, file_url string, detail string"),
    "input_audio": fields(f"{_MARK}, input_audio! object"),
}
_ASSISTANT_PARTS: Final[dict[str, Fields]] = {
    "output_text": fields("type! string, text! string, annotations array, logprobs array"),
    "refusal": fields("type! string, refusal! string"),
}
_OUTPUT_PARTS: Final = {name: _INPUT[name] for name in ("input_text", "input_image", "input_file")}
_BETWEEN_AGENTS: Final[dict[str, Fields]] = {
    **{name: _INPUT[name] for name in ("input_text", "input_image")},
    "encrypted_content": fields("type! string, encrypted_content! string"),
}


def kind_of(item: Mapping[str, Json]) -> str:
    """An item's type; one without is a message."""
    return str(item.get("type") or "message")


def item_refusals(item: Json, n: int) -> Iterator[Refusal]:
    """Refusals of input item `n` by itself."""
    path: Path = ("input", n)
    if not isinstance(item, dict):
        yield refusal_of_fault(ShapeFault("type", path, ShapeField(("object",)), item))
        return
    kind = kind_of(item)
    if kind not in KINDS:
        yield wrong_value(kind, KINDS, f"input[{n}]")
        return
    if kind in _ITEMS:
        yield from object_refusals(item, _ITEMS[kind], path)
    prefix = _ID_PREFIXES.get(kind)
    id_ = item.get("id")
    if prefix and isinstance(id_, str) and not id_.startswith(prefix):
        yield invalid(f"input[{n}].id", f"'{id_}'. Expected an ID that begins with '{prefix}'.", rule="item id")
    if kind == "message":
        role = item.get("role")
        if isinstance(role, str) and role not in ROLES:
            yield wrong_value(role, ROLES, f"input[{n}].role")
            return
        yield from _part_refusals(
            item.get("content"), ("input", n, "content"), _ASSISTANT_PARTS if role == "assistant" else _INPUT
        )
    elif kind in ("function_call_output", "custom_tool_call_output"):
        yield from _part_refusals(item.get("output"), ("input", n, "output"), _OUTPUT_PARTS)
    elif kind == "agent_message":
        yield from _part_refusals(item.get("content"), ("input", n, "content"), _BETWEEN_AGENTS)
    elif kind == "additional_tools":
        for m, tool in enumerate(as_list(item.get("tools"))):
            yield from tool_refusals(tool, ("input", n, "tools", m))


def _part_refusals(content: Json, path: Path, known_parts: Mapping[str, Fields]) -> Iterator[Refusal]:
    for m, part in enumerate(as_list(content)):
        kind = as_dict(part).get("type")
        if not isinstance(kind, str) or kind not in known_parts:
            yield wrong_value(str(kind), tuple(known_parts), format_path((*path, m)))
        else:
            yield from object_refusals(part, known_parts[kind], (*path, m))


_PAIRS: Final = {
    f"{name}_output": name
    for name in ("function_call", "custom_tool_call", "local_shell_call", "shell_call", "apply_patch_call")
}
_NOUNS: Final = {"function_call": "function call", "custom_tool_call": "custom tool call"}
_FOLLOWING: Final = ("_call", "reasoning", "program")
"""Ends of the kinds of items that may follow reasoning, besides the assistant's messages."""

_NOT_STORED_HINT: Final = (
    " Items are not persisted when `store` is set to false. Try again with `store` set to true, or remove this item "
    "from your input."
)

Item = Mapping[str, Json]


def order_refusals(
    items: Sequence[Item], stored: Mapping[str, Item] | None, own_start: int, store: bool, whole: bool
) -> Iterator[Refusal]:
    """Yield the refusals that depend on all `items` together.

    They concern ids, calls and their outputs, reasoning, and the place of a request for compaction. Items from index
    `own_start` on are in the request, the server stores those before them. `stored` are the known items by id (None:
    all ids count as known). `store` is the request's setting. `whole`: `items` are the whole conversation.
    """
    yield from _id_refusals(items[own_start:], stored, store)
    resolved = [(stored or {}).get(str(i.get("id")), i) if kind_of(i) == "item_reference" else i for i in items]
    unresolved = any(kind_of(item) == "item_reference" for item in resolved)
    yield from _call_refusals(resolved, whole and not unresolved, own_start)
    yield from _reasoning_refusals(resolved, own_start)
    triggers = [n for n, item in enumerate(items[own_start:]) if kind_of(item) == "compaction_trigger"]
    if triggers and triggers[0] != len(items) - own_start - 1:
        message = "The 'compaction_trigger' item must be the last input item."
        yield Refusal(message, param=f"input[{triggers[0]}]", rule="compaction trigger")


def _id_refusals(items: Sequence[Item], stored: Mapping[str, Item] | None, store: bool) -> Iterator[Refusal]:
    seen_ids: set[str] = set()
    for item in items:
        id_, kind = item.get("id"), kind_of(item)
        cipher = item.get("encrypted_content")
        if (kind == "reasoning" and cipher and not is_acceptable(cipher)) or (
            kind == "compaction" and was_changed(cipher)
        ):
            message = f"The encrypted content {str(cipher)[:8]}... could not be verified."
            code = "invalid_encrypted_content"
            yield Refusal(message, param="input", code=code, rule="encrypted content")
        if not isinstance(id_, str):
            continue
        if id_ in seen_ids:
            message = f"Duplicate item found with id {id_}. Remove duplicate items from your input and try again."
            yield Refusal(message, param="input", rule="duplicate item")
        seen_ids.add(id_)
        needs = kind == "item_reference" or (kind == "reasoning" and not item.get("encrypted_content"))
        if needs and stored is not None and id_ not in stored:
            message = f"Item with id '{id_}' not found."
            message += "" if store else _NOT_STORED_HINT
            yield Refusal(message, 404, param="input", rule="item not found")


def _call_refusals(items: Sequence[Item], whole: bool, own_start: int) -> Iterator[Refusal]:
    calls: dict[tuple[str, str], int] = {}
    answered: set[tuple[str, str]] = set()
    for n, item in enumerate(items):
        kind, id_ = kind_of(item), str(item.get("call_id") or item.get("id"))
        if kind in _PAIRS.values():
            calls[kind, id_] = n
        elif kind in _PAIRS:
            key = _PAIRS[kind], id_
            if key not in calls and whole:
                noun = _NOUNS.get(key[0], key[0])
                message = f"No tool call found for {noun} output with call_id {id_}."
                yield Refusal(message, param="input", rule="result without call")
            elif key in answered and n >= own_start:
                message = f"Duplicate output for call_id {id_}."
                yield Refusal(message, param="input", rule="two results")
            answered.add(key)
    for key in calls:
        if key not in answered:
            message = f"No tool output found for {_NOUNS.get(key[0], key[0])} {key[1]}."
            yield Refusal(message, param="input", rule="call without result")


def _reasoning_refusals(items: Sequence[Item], own_start: int) -> Iterator[Refusal]:
    """Refuse reasoning that is not followed by the item that it led to."""
    for n, item in enumerate(items):
        if kind_of(item) != "reasoning" or n < own_start:
            continue
        after = items[n + 1] if n + 1 < len(items) else {"type": "nothing"}
        kind = kind_of(after)
        is_followed = (kind == "message" and after.get("role") == "assistant") or kind.endswith(_FOLLOWING)
        # Codex cuts an answer when another agent sends a message, and resends the rest (facts §13.3).
        is_followed = is_followed or kind == "agent_message"
        if not is_followed and kind != "item_reference":
            id_ = item.get("id") or "rs_unnamed"
            message = f"Item '{id_}' of type 'reasoning' was provided without its required following item."
            yield Refusal(message, param="input", rule="reasoning alone")


_COUNTED: Final = fields(
    "model! string, input string|array, instructions string, previous_response_id string, conversation string|object, "
    "tools array, tool_choice string|object, parallel_tool_calls boolean, reasoning object, text object, "
    "truncation =auto|disabled, personality"
)
_FIELDS: Final = (
    _COUNTED
    | SHARED_FIELDS
    | fields(
        "include array, store boolean, stream boolean, stream_options object, max_output_tokens integer >=16, "
        "max_tool_calls integer >=1, client_metadata object, background boolean, context_management array, "
        "prompt object, image object, access_programs object"
    )
)
_FRAMED: Final = fields("type! =response.create, generate boolean, stream_id string")
"""Additional fields of a WebSocket frame."""
_REASONING: Final = fields(
    f"effort ={EFFORTS}, summary =auto|concise|detailed, generate_summary =auto|concise|detailed, "
    "context =auto|current_turn|all_turns, mode =standard|pro"
)


def refusals(
    body: Json,
    *,
    before: Sequence[Mapping[str, Json]] | None = None,
    stored: Mapping[str, Mapping[str, Json]] | None = None,
    counting: bool = False,
    by_socket: bool = False,
    strict: bool = True,
) -> list[Refusal]:
    """All reasons to refuse `body`, a request's JSON value; empty if it is valid.

    - `before`: the items of ``previous_response_id``; None: no such response.
    - `stored`: every known item by id; None: all references count as known.
    - `counting`: the request is for a token count.
    - `by_socket`: the request is a WebSocket frame.

    The provider reports only the first refusal of the list. If fields are wrong, nothing else is checked. Without
    `strict` any model and any ``max_output_tokens`` are accepted.
    """
    if not isinstance(body, dict):
        return [Refusal("We could not parse the JSON body of your request.", rule="no object")]
    fields = _COUNTED if counting else _FIELDS | _FRAMED if by_socket else _FIELDS
    errors = [refusal_of_fault(fault) for fault in find_faults(body, fields)]
    if errors:
        return errors
    model = gpt(body["model"], strict)
    if model is None:
        message = f"The requested model '{body['model']}' does not exist."
        return [Refusal(message, param="model", code="model_not_found", rule="unknown model")]
    earlier = body.get("previous_response_id") or body.get("conversation")
    items = items_of(body)
    errors = list(_input_refusals(body, items))
    errors += [refusal for n, item in enumerate(items) for refusal in item_refusals(item, n)]
    if errors:
        return errors
    if body.get("previous_response_id") is not None and before is None and stored is not None:
        message = f"Previous response with id '{body['previous_response_id']}' not found."
        code = "previous_response_not_found"
        return [Refusal(message, param="previous_response_id", code=code, rule="previous response")]
    whole = not earlier or before is not None
    order = order_refusals([*(before or ()), *items], stored, len(before or ()), body.get("store") is not False, whole)
    return [*order, *_parameter_refusals(body, model), *_tools_refusals(body, [*(before or ()), *items])]


def items_of(body: Mapping[str, Json]) -> list[Json]:
    """The request's own input items; a string is one user message."""
    value = body.get("input")
    if isinstance(value, str):
        return [{"type": "message", "role": "user", "content": value}] if value else []
    return as_list(value)


def _input_refusals(body: Mapping[str, Json], items: Sequence[Json]) -> Iterator[Refusal]:
    if body.get("previous_response_id") is not None and body.get("conversation") is not None:
        message = "Mutually exclusive parameters: Ensure you are only providing one of: 'previous_response_id' or "
        code = "mutually_exclusive_parameters"
        yield Refusal(f"{message}'conversation'.", code=code, rule="exclusive")
    if (
        not items
        and body.get("generate") is not False
        and not any(body.get(key) for key in ("previous_response_id", "conversation", "prompt"))
    ):
        message = "One of \"input\" or \"previous_response_id\" or 'prompt' or 'conversation' must be provided."
        code = "missing_required_parameter"
        yield Refusal(message, param="input", code=code, rule="no input")


def _parameter_refusals(body: Mapping[str, Json], model: Gpt) -> Iterator[Refusal]:
    yield from large_output("max_output_tokens", body.get("max_output_tokens"), model.max_output)
    reasoning = body.get("reasoning")
    if isinstance(reasoning, dict):
        yield from object_refusals(reasoning, _REASONING, ("reasoning",))
        if reasoning.get("effort") is not None and not model.reasons:
            yield unsupported("reasoning.effort")
    yield from sampling_refusals(body, model.fixed)
    if "type" not in body:
        yield from stream_refusals(body)
    if body.get("background") is True and body.get("store") is False:
        message = "Background mode requires 'store' to be true."
        yield Refusal(message, param="background", rule="background")


def _tools_refusals(body: Mapping[str, Json], items: Sequence[Json]) -> Iterator[Refusal]:
    for n, tool in enumerate(as_list(body.get("tools"))):
        yield from tool_refusals(tool, ("tools", n))
    choice, tools = body.get("tool_choice"), offered_tools(body, items)
    if choice == "required" and not tools:
        message = "Tool choice 'required' must be specified with 'tools' parameter."
        yield Refusal(message, param="tool_choice", rule="no tools")
    kind = as_dict(choice).get("type")
    name = as_dict(choice).get("name") if kind in _CLIENT_TOOLS else None
    named = [as_dict(tool).get("name") for tool in tools if as_dict(tool).get("type") == kind]
    yield from choice_refusals(choice, name, named)
