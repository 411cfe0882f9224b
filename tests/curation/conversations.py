"""Conversations in every dialect as contexts, and random edits of them."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from ctxtui.core import canonical
from ctxtui.core.edit import REVERT, USER, Edit, Target, make
from ctxtui.core.edit_kinds import (
    ANNOTATE,
    COMPACT_JSON,
    DEDUPLICATE,
    DROP,
    EXTERNALIZE,
    HOIST,
    MINIMISE,
    MOVE,
    NOTE,
    PIN,
    REPLACE,
    STRIP,
    SUMMARIZE,
    TRANSPLANT,
    TRUNCATE,
)
from ctxtui.core.tree import ROOT, Tree
from ctxtui.curation.context import Context, marker_lifetimes
from ctxtui.wire.registry import DIALECTS
from ctxtui.wire.request import Request


def call_and_result(dialect: str) -> dict[str, Any]:
    """The payload of a transplant of one call and its result, in the JSON of `dialect`."""
    arguments = {"path": "notes.md"}
    if dialect == "anthropic":
        call = {"type": "tool_use", "id": "toolu_copied", "name": "run", "input": arguments}
        result = {"type": "tool_result", "tool_use_id": "toolu_copied", "content": "three lines"}
        blocks = [
            ("header", "assistant", {"role": "assistant", "content": "list"}),
            ("tool_use", "assistant", call),
            ("header", "user", {"role": "user", "content": "list"}),
            ("tool_result", "user", result),
        ]
    elif dialect == "openai_responses":
        call = {"type": "function_call", "call_id": "call_copied", "name": "run", "arguments": "{}"}
        output = {"type": "function_call_output", "call_id": "call_copied", "output": "three lines"}
        blocks = [("function_call", "assistant", call), ("function_call_output", "tool", output)]
    elif dialect == "openai_chat":
        call = {"id": "call_copied", "type": "function", "function": {"name": "run", "arguments": "{}"}}
        answer = {"role": "tool", "tool_call_id": "call_copied", "content": "string"}
        blocks = [
            ("header", "assistant", {"role": "assistant", "content": None, "tool_calls": "list"}),
            ("tool_call", "assistant", call),
            ("header", "tool", answer),
            ("text", "tool", {"type": "text", "text": "three lines"}),
        ]
    else:
        response = {"name": "run", "response": {"output": "three lines"}}
        blocks = [
            ("header", "model", {"role": "model", "parts": "list"}),
            ("function_call", "model", {"functionCall": {"name": "run", "args": arguments}}),
            ("header", "user", {"role": "user", "parts": "list"}),
            ("function_response", "user", {"functionResponse": response}),
        ]
    described = [{"kind": kind, "role": role, "value": value} for kind, role, value in blocks]
    return {"blocks": described, "dialect": dialect, "from": "other@3"}


PAYLOADS: dict[str, list[dict[str, Any]]] = {
    PIN: [{}],
    DROP: [{}],
    SUMMARIZE: [{"text": "What happened."}, {"text": ""}],
    TRUNCATE: [{"head": 3, "tail": 2}, {"head": 0, "tail": 0}],
    REPLACE: [{"text": "other"}, {"text": ""}, {"text": "a\x00b\ud800"}],
    HOIST: [{"text": "hello", "to": "system"}, {"text": "x", "to": "first"}],
    EXTERNALIZE: [{"name": "A 1", "line": "a file"}],
    DEDUPLICATE: [{"text": "[as above]"}],
    STRIP: [{}, {"what": "images"}, {"what": "thinking"}],
    COMPACT_JSON: [{"drop": ["path"]}],
    MINIMISE: [{"description": 3}],
    NOTE: [{"text": "mind this"}, {"text": "mind this", "where": "before"}],
    MOVE: [{"to": "system"}, {"to": "start"}, {"to": "end"}],
    ANNOTATE: [{"rating": 2}],
    TRANSPLANT: [call_and_result(name) for name in ("anthropic", "openai_chat", "openai_responses", "google")],
}


def context_of(body: dict[str, Any], dialect: str) -> tuple[Context, Request]:
    """The context that a request body holds, and the request."""
    request = DIALECTS[dialect].decode_request(canonical.dumps(body), None)
    tree = Tree()
    return Context(tree, tree.extend(ROOT, request.items), dialect, request.params, marker_lifetimes(request)), request


@st.composite
def logs(draw: st.DrawFn, context: Context, kinds: tuple[str, ...] = tuple(PAYLOADS)) -> list[Edit]:
    """An edit log for `context`, by several authors, with reverts and targets that are not there."""
    log: list[Edit] = []
    for n in range(draw(st.integers(0, 6))):
        if log and draw(st.integers(0, 4)) == 0:
            log.append(Edit(f"r{n}", REVERT, reverts=draw(st.sampled_from(log)).id))
            continue
        kind = draw(st.sampled_from(kinds))
        payload = draw(st.sampled_from(PAYLOADS[kind]))
        author = draw(st.sampled_from([USER, USER, "window"]))
        log.append(make(kind, draw(targets(context)), payload, author=author, id=f"e{n}"))
    return log


@st.composite
def targets(draw: st.DrawFn, context: Context) -> list[Target]:
    """Blocks of a context: some, or a range."""
    if not len(context):
        return [Target("0" * 32)]
    positions = st.integers(0, len(context) - 1)
    if draw(st.booleans()):
        first, length = draw(positions), draw(st.integers(1, 6))
        chosen = list(range(first, min(len(context), first + length)))
    else:
        chosen = sorted(draw(st.sets(positions, min_size=1, max_size=3)))
    found = context.targets(chosen)
    return [*found, Target("0" * 32)] if draw(st.integers(0, 9)) == 0 else found
