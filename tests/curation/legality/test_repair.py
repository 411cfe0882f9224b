"""Repair: sessions broken in every way are taken again, and a pasted error leads to the block that it is about."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import pytest

from ctxtui.core import canonical
from ctxtui.curation.apply.apply import apply
from ctxtui.curation.legality import violation as rule
from ctxtui.curation.legality.provider_errors import BOUND, TOO_LONG, from_error_text
from ctxtui.curation.legality.repair import find_faults, repair
from ctxtui.curation.legality.request_check import encode_outgoing
from ctxtui.curation.provider_rules import rules_for
from ctxtui.services.config.package_data import model_table
from tests.cases.sessions import PNG
from tests.curation.conversations import context_of
from tests.curation.shaped import SHAPES
from tests.curation.test_random_edits import STRICT
from tests.sampling import few

Body = dict[str, Any]


def _messages(body: Body) -> list[Any]:
    found: list[Any] = body.get("messages") or body.get("input") or body["contents"]
    return found


def lose_one(rng: Random, body: Body) -> None:
    messages = _messages(body)
    if len(messages) > 2:
        del messages[rng.randrange(1, len(messages))]


def lose_the_end(rng: Random, body: Body) -> None:
    messages = _messages(body)
    del messages[rng.randrange(2, max(3, len(messages))) :]


def empty_text(rng: Random, body: Body) -> None:
    parts = [p for m in _messages(body) for p in _parts(m) if "text" in p]
    if parts:
        rng.choice(parts)["text"] = " "


def nul(rng: Random, body: Body) -> None:
    parts = [p for m in _messages(body) for p in _parts(m) if "text" in p]
    if parts:
        rng.choice(parts)["text"] += "\x00\ud800"


def text_first(rng: Random, body: Body) -> None:
    for message in _messages(body):
        parts = _parts(message)
        if parts and parts[0].get("type") == "tool_result":
            message["content"].insert(0, {"type": "text", "text": "before"})
            return


def between(rng: Random, body: Body) -> None:
    for n, message in enumerate(_messages(body)):
        if any(p.get("type") == "tool_use" for p in _parts(message)) or message.get("tool_calls"):
            _messages(body).insert(n + 1, {"role": "user", "content": "wait, in between"})
            return


def many_markers(rng: Random, body: Body) -> None:
    if "system" in body:
        texts = [p for m in body["messages"] for p in _parts(m) if p.get("type") == "text" and p["text"].strip()]
        for part in texts[:6]:
            part["cache_control"] = {"type": "ephemeral"}


def unsigned(rng: Random, body: Body) -> None:
    for message in body.get("messages", ()):
        for part in _parts(message):
            if part.get("type") == "thinking":
                part.pop("signature", None)
                return


PIXEL: Body = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}}


def _results(body: Body) -> list[Any]:
    return [p for m in _messages(body) for p in _parts(m) if p.get("type") == "tool_result"]


def second_result(rng: Random, body: Body) -> None:
    for message in _messages(body):
        found = [p for p in _parts(message) if p.get("type") == "tool_result"]
        if found:
            message["content"].insert(len(found), dict(found[0]))
            return


def empty_inside(rng: Random, body: Body) -> None:
    if _results(body):
        rng.choice(_results(body))["content"] = [{"type": "text", "text": " "}, PIXEL]


def error_with_image(rng: Random, body: Body) -> None:
    if _results(body):
        rng.choice(_results(body)).update(content=[{"type": "text", "text": "no"}, PIXEL], is_error=True)


def error_with_document(rng: Random, body: Body) -> None:
    if _results(body):
        paper = {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "words"}}
        rng.choice(_results(body)).update(content=[{"type": "text", "text": "no"}, paper], is_error=True)


def picture_from_a_tool(rng: Random, body: Body) -> None:
    told = [m for m in _messages(body) if m.get("role") == "tool"]
    if told:
        picture = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}}
        rng.choice(told)["content"] = [{"type": "text", "text": "see"}, picture]


def thought_twice(rng: Random, body: Body) -> None:
    for n, item in enumerate(_messages(body)):
        if item.get("type") == "reasoning":
            _messages(body).insert(n, dict(item))
            return


def served_alone(rng: Random, body: Body) -> None:
    for message in body["messages"][1:] if "system" in body else ():
        if message["role"] == "assistant" and _parts(message):
            call = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "q"}}
            message["content"].insert(0, call)
            return


def _served(id_: str) -> list[Body]:
    call = {"type": "server_tool_use", "id": id_, "name": "web_search", "input": {"query": "q"}}
    return [call, {"type": "web_search_tool_result", "tool_use_id": id_, "content": []}]


def served_to_the_user(rng: Random, body: Body) -> None:
    said = [m for m in _messages(body) if m.get("role") == "user" and _parts(m)] if "system" in body else []
    if said:
        rng.choice(said)["content"] += _served("srvtoolu_2")


def served_twice(rng: Random, body: Body) -> None:
    for message in body["messages"] if "system" in body else ():
        if message["role"] == "assistant" and _parts(message):
            message["content"][:0] = [*_served("srvtoolu_3"), {"type": "text", "text": "found"}]


def twice(rng: Random, body: Body) -> None:
    body["tools"].append(body["tools"][0])


def _parts(message: Any) -> list[Any]:
    content = (message.get("content") or message.get("parts")) if isinstance(message, dict) else None
    return [p for p in content if isinstance(p, dict)] if isinstance(content, list) else []


BREAKS = (
    lose_one, lose_the_end, empty_text, nul, text_first, between, many_markers, unsigned, twice,
    second_result, empty_inside, error_with_image, error_with_document, picture_from_a_tool, thought_twice,
    served_alone, served_to_the_user, served_twice)  # fmt: skip


@pytest.mark.parametrize("dialect", few(sorted(SHAPES)))
def test_what_was_broken_is_taken_again(dialect: str) -> None:
    mended, left = 0, []
    for seed in range(140):
        rng = Random(f"broken {dialect} {seed}")
        body = json.loads(json.dumps(SHAPES[dialect](rng)))
        body["model"] = body["model"].replace("claude-opus-5-5", "claude-opus-4-8").replace("sonnet-5-5", "sonnet-4-5")
        for _ in range(rng.randint(1, 3)):
            rng.choice(BREAKS)(rng, body)
        context, request = context_of(body, dialect)
        card = model_table().card(body["model"])
        rules = rules_for(dialect, card)
        found = repair(context, rules, limits=card.request_limits)
        applied = apply(context, found.edits, rules)
        if applied.refused or not context.messages:
            continue
        out = encode_outgoing(
            applied, request.skeleton, dialect=dialect, model=body["model"], limits=card.request_limits
        )
        strict = [f"{r.rule}: {r.message[:60]}" for r in STRICT[dialect](canonical.loads(out.body))]
        mended += bool(found.edits) and not strict
        if strict or found.left:
            left.append((seed, strict[:2], found.left[:2]))
    assert not left, f"{len(left)}: {left[:5]}"
    assert mended > 40


def test_a_legal_context_needs_nothing() -> None:
    for dialect, shape in SHAPES.items():
        body = shape(Random(1))
        context, _ = context_of(body, dialect)
        assert repair(context, rules_for(dialect)).edits == ()


@pytest.mark.parametrize(
    ("text", "rule_", "position"),
    [
        ("messages.2: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_0_0_0",
         rule.PAIR, True),
        ("No tool output found for function call call_abc.", rule.PAIR, False),
        ("messages.0.content.0.text: text content blocks must be non-empty", rule.EMPTY, True),
        ("messages.3.content.0: Invalid `signature` in `thinking` block", BOUND, True),
        ("This model does not support assistant message prefill. The conversation must end with a user message.",
         rule.LAST, False),
        ("A maximum of 4 blocks with cache_control may be provided. Found 5.", rule.MARKERS, False),
        ('{"error":{"message":"prompt is too long: 210000 tokens > 200000 maximum"}}', TOO_LONG, False),
        ("messages.1.content.0.image.source: image exceeds 10 MB maximum", rule.IMAGES, True),
        ("Item 'rs_1' of type 'reasoning' was provided without its required following item.", rule.REASONING, False),
        (f"messages.{'9' * 5000}.content.1: Invalid `signature` in `thinking` block", BOUND, False),
        ("the weather is fine", None, False),
    ],
)  # fmt: skip
def test_a_pasted_error_names_its_rule(text: str, rule_: str | None, position: bool) -> None:
    context, _ = context_of(SHAPES["anthropic"](Random(5)), "anthropic")
    fault = from_error_text(context, text)
    assert (fault.violation.rule if fault else None) == rule_
    assert (fault is not None and fault.position >= 0) == position or not position


def test_faults_name_the_block() -> None:
    body: Body = {
        "model": "claude-opus-4-5", "max_tokens": 5,
        "messages": [{"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": " "}]}],
    }  # fmt: skip
    context, _ = context_of(body, "anthropic")
    assert [(f.violation.rule, f.position) for f in find_faults(apply(context, []))] == [(rule.EMPTY, 2)]


def test_tools_that_are_all_deferred_are_a_fault() -> None:
    tool = {"name": "look", "input_schema": {"type": "object"}, "defer_loading": True}
    context, _ = context_of({"tools": [tool], "messages": [{"role": "user", "content": "go"}]}, "anthropic")
    assert [fault.violation.path for fault in find_faults(apply(context, []))] == ["$.tools"]
    empty, _ = context_of({"messages": []}, "anthropic")
    assert not find_faults(apply(empty, []))
