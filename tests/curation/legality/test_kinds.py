"""Kinds of sessions that clients cannot go on with: what is wrong is named, mended there, and nothing else goes."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ctxtui.core import canonical
from ctxtui.core.canonical import Json
from ctxtui.curation.apply.apply import apply
from ctxtui.curation.legality import images
from ctxtui.curation.legality import violation as rule
from ctxtui.curation.legality.legality import check
from ctxtui.curation.legality.provider_errors import from_error_text
from ctxtui.curation.legality.repair import Repair, find_faults, repair
from ctxtui.curation.legality.request_check import encode_outgoing
from ctxtui.curation.provider_rules import rules_for
from ctxtui.services.config.package_data import model_table
from tests.curation.conversations import context_of
from tests.curation.test_random_edits import STRICT
from tests.tokens.test_image import VP8, VP8L, VP8X, jpeg, png

Body = dict[str, Any]
TOOL: Body = {"name": "read_file", "description": "Reads.", "input_schema": {"type": "object", "title": "Path"}}
USE: Body = {"type": "tool_use", "id": "toolu_1", "name": "read_file", "input": {"path": "a", "deep": [{"note": "b"}]}}
MODELS = {"anthropic": "claude-opus-4-5", "openai_chat": "gpt-5.4", "openai_responses": "gpt-5.5"}


def result(*parts: Any, **more: Any) -> Body:
    return {"type": "tool_result", "tool_use_id": "toolu_1", "content": list(parts), **more}


def text(words: str, kind: str = "text") -> Body:
    return {"type": kind, "text": words}


def claude(*answers: Any, tools: Any = (TOOL,), use: Body = USE, **more: Any) -> Body:
    messages = [
        {"role": "user", "content": "look"},
        {"role": "assistant", "content": [text("I look."), use]},
        {"role": "user", "content": [*answers, text("and?")]},
    ]
    listed = {"tools": list(tools)} if tools else {}
    return {"model": MODELS["anthropic"], "max_tokens": 9000, **listed, **more, "messages": messages}


CHAT: Body = {
    "model": MODELS["openai_chat"],
    "tools": [{"type": "function", "function": {"name": "read_file", "description": "Reads.", "parameters": {}}}],
    "messages": [
        {"role": "system", "content": "Be short."},
        {"role": "user", "content": [text("look")]},
        {"role": "assistant", "content": "I look.", "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "read_file", "arguments": '{"path":"a"}'}}]},
        {"role": "tool", "tool_call_id": "c1", "content": "words"},
    ],
}  # fmt: skip
RESPONSES: Body = {
    "model": MODELS["openai_responses"],
    "tools": [{"type": "function", "name": "read_file", "description": "Reads.", "parameters": {}, "strict": False}],
    "input": [
        {"type": "message", "role": "user", "content": [text("look", "input_text")]},
        {"type": "function_call", "call_id": "c1", "name": "read_file", "arguments": '{"path":"a"}'},
        {"type": "function_call_output", "call_id": "c1", "output": [text("words", "input_text")]},
        {"type": "message", "role": "assistant", "content": [text("Done.", "output_text")]},
        {"type": "message", "role": "user", "content": [text("and?", "input_text")]},
    ],
}
CLAUDE = claude(result(text("one"), text("two")), system=[text("Be short.")])
BODIES = {"anthropic": CLAUDE, "openai_chat": CHAT, "openai_responses": RESPONSES}
STRUCTURE = {"model", "type", "role", "name", "id", "tool_use_id", "tool_call_id", "call_id"}


def mended(body: Body, dialect: str = "anthropic", error: str = "") -> tuple[Repair, Body, list[str]]:
    """What repair finds and does, the body that leaves then, and what a validator written apart says of it."""
    context, request = context_of(body, dialect)
    card = model_table().card(body["model"])
    rules = rules_for(dialect, card)
    fault = from_error_text(context, error) if error else None
    found = repair(context, rules, limits=card.request_limits, reported=[fault] if fault else [])
    applied = apply(context, found.edits, rules)
    out = encode_outgoing(applied, request.skeleton, dialect=dialect, model=body["model"], limits=card.request_limits)
    value = canonical.loads(out.body)
    assert not found.left and not out.violations and not find_faults(applied, limits=card.request_limits)
    return found, value, [refusal.message for refusal in STRICT[dialect](value)]


def strings(value: Json, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths of all strings in `value` that hold a person's or a tool's words, and (with "key") of a tool's keys."""
    if isinstance(value, str):
        yield path
    elif isinstance(value, list):
        for n, one in enumerate(value):
            yield from strings(one, (*path, n))
    elif isinstance(value, dict):
        for key, one in value.items():
            if key not in STRUCTURE:
                yield from strings(one, (*path, key))
            if "input" in path and isinstance(path[-1], str):
                yield (*path, "key", key)


def broken(body: Body, path: tuple[Any, ...], half: str) -> Body:
    """`body` with half of a pair in the string at `path`."""
    made: Any = json.loads(json.dumps(body))
    at = made
    *steps, last = path
    for step in steps if "key" not in steps else steps[:-1]:
        at = at[step]
    if "key" in steps:
        at[f"{last}{half}"] = at.pop(last)
    else:
        at[last] += half
    return dict(made)


@pytest.mark.parametrize("dialect", BODIES)
def test_half_a_pair_is_replaced_where_ever_it_stands(dialect: str) -> None:
    body = BODIES[dialect]
    size = len(json.dumps(body))
    places = list(strings({key: body[key] for key in ("system", "tools", "messages", "input") if key in body}))
    assert len(places) >= 6
    for n, path in enumerate(places):
        found, value, strict = mended(broken(body, path, ("\ud83e", "\udd14", "\x00")[n % 3]), dialect)
        assert [edit.kind for edit in found.edits] == ["strip"], path
        assert not strict and "\ufffd" in canonical.dumps(value).decode(), path
        assert len(json.dumps(value)) == size + len("\\ufffd"), path


def test_a_reference_to_a_tool_that_is_gone_goes() -> None:
    other = {"type": "tool_reference", "tool_name": "find"}
    gone = {"type": "tool_reference", "tool_name": "find_all"}
    for body in (claude(result(gone), tools=()), claude(result(gone))):
        found, value, _ = mended(body)
        assert {fault.violation.rule for fault in found.faults} == {rule.REFERENCE}
        assert value["messages"][2]["content"][0]["content"] == [text("[the tool find_all is not there any more]")]
    _, value, _ = mended(claude(result(other, gone, text("x")), tools=(TOOL, {**TOOL, "name": "find"})))
    assert value["messages"][2]["content"][0]["content"] == [other, text("x")]
    served = {"type": "tool_search_tool_search_result", "tool_references": [gone]}
    call = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "tool_search_tool_regex", "input": {}}
    body = claude(result(text("x")))
    answer = {"type": "tool_search_tool_result", "tool_use_id": "srvtoolu_1", "content": served}
    body["messages"][1]["content"][:1] = [call, answer]
    assert mended(body)[1]["messages"][1]["content"][1]["content"]["tool_references"] == []


def test_a_tool_that_was_called_is_there() -> None:
    gone = {"type": "tool_reference", "tool_name": "read_file"}
    assert mended(claude(result(gone), tools=()))[0].edits == (), "what worked is there, though no tools are recorded"
    body = claude(result(gone), tools=(), use={**USE, "name": "list_files"})
    failed = {**result(text("no such tool"), is_error=True), "tool_use_id": "toolu_0"}
    said = [("assistant", {**USE, "id": "toolu_0"}), ("user", failed)]
    body["messages"][1:1] = [{"role": role, "content": [part]} for role, part in said]
    assert [f.violation.rule for f in mended(body)[0].faults] == [rule.REFERENCE], "what failed need not be there"
    error = "messages.2.content.0: Tool reference 'read_file' not found in available tools"
    found, value, _ = mended(claude(result(gone), tools=()), error=error)
    assert [edit.params["name"] for edit in found.edits] == ["read_file"], "the provider knows better"
    assert "tool_reference" not in json.dumps(value)


def image(data: bytes | str, kind: str = "image/png") -> Body:
    coded = data if isinstance(data, str) else base64.b64encode(data).decode()
    return {"type": "image", "source": {"type": "base64", "media_type": kind, "data": coded}}


PICTURES = {
    "image/png": [png(8, 6)],
    "image/jpeg": [jpeg(8, 6)],
    "image/gif": [b"GIF89a\x08\x00\x06\x00"],
    "image/webp": [VP8, VP8L, VP8X],
}
GOOD, WIDE = image(png(8, 6)), image(png(2001, 9))
ODD = {
    "empty": image(""),
    "no base64": image("%%"),
    "cut base64": image(base64.b64encode(png(8, 6)).decode()[:-3]),
    "no image": image(b"words"),
    "too wide": image(png(8001, 9)),
    "too high": image(png(9, 8001)),
    "not taken": image(png(8, 6), "image/bmp"),
}


@pytest.mark.parametrize("kind", PICTURES)
def test_an_image_is_what_it_says(kind: str) -> None:
    for data in PICTURES[kind]:
        for declared in PICTURES:
            found, value, strict = mended(claude(result(text("see"), GOOD, image(data, declared))))
            assert not strict and bool(found.edits) == (declared != kind), (kind, declared)
            left = [part["type"] for part in value["messages"][2]["content"][0]["content"]]
            assert left == ["text", "image", "image" if declared == kind else "text"]


@pytest.mark.parametrize("name", ODD)
def test_an_odd_image_goes_wherever_it_stands(name: str) -> None:
    bodies = [claude(result(ODD[name], GOOD, ODD[name])), claude(result(text("x")), ODD[name], GOOD)]
    paper = {"type": "document", "source": {"type": "content", "content": [text("x"), ODD[name]]}}
    for body in (*bodies, claude(result(text("x")), paper)):
        assert paper in body["messages"][2]["content"] or STRICT["anthropic"](body), name
        found, value, strict = mended(body)
        assert {fault.violation.rule for fault in found.faults} == {rule.IMAGES} and not strict
        assert json.dumps(value).count('"type": "image"') == (0 if paper in body["messages"][2]["content"] else 1)


def test_an_image_of_another_type_says_so() -> None:
    (fault,) = mended(claude(result(image(png(8, 6), "image/bmp"))))[0].faults
    assert "'image/bmp'" in fault.violation.message and "known type" in fault.violation.message


def test_an_image_has_a_most_of_characters(monkeypatch: pytest.MonkeyPatch) -> None:
    large = image(png(8, 6) + b"x" * 600)
    monkeypatch.setattr(images, "MAX_BASE64_CHARACTERS", 700)
    found, value, _ = mended(claude(result(GOOD, large)))
    assert [edit.params["parts"] for edit in found.edits] == [[1]]
    assert json.dumps(value).count('"type": "image"') == 1
    assert mended(claude(result(GOOD)))[0].edits == ()


def test_a_request_has_a_most_of_images() -> None:
    def too_many(count: int) -> list[str]:
        return [one.message for one in check("anthropic", claude(result(*[GOOD] * count)))]

    assert too_many(600) == [] and too_many(601) == ["601 images, the most is 600"]


def paper(data: bytes | str, kind: str = "application/pdf") -> Body:
    return {"type": "document", "source": {**image(data, kind)["source"]}}


def pdf(pages: int) -> bytes:
    return b"%PDF-1.4\n" + b"<< /Type /Page >>\n" * pages


ODD_PAPERS = {
    "empty": paper(""),
    "no base64": paper("%%"),
    "no PDF": paper(b"words"),
    "an image": paper(png(8, 6), "image/png"),
    "a text": paper(b"words", "text/plain"),
}


@pytest.mark.parametrize("name", ODD_PAPERS)
def test_an_odd_document_goes_wherever_it_stands(name: str) -> None:
    fine = paper(pdf(3))
    odd = ODD_PAPERS[name]
    for body in (claude(result(text("see"), fine, odd)), claude(result(text("x")), odd, fine)):
        assert STRICT["anthropic"](body), name
        found, value, strict = mended(body)
        assert {fault.violation.rule for fault in found.faults} == {rule.DOCUMENTS} and not strict
        assert json.dumps(value).count('"type": "document"') == 1
    assert mended(claude(result(fine), fine))[0].edits == ()


def test_pages_that_are_not_stated_refuse_nothing() -> None:
    compressed = paper(b"\n\n%PDF-1.7\n" + bytes(9_000_000))
    body = claude(result(text("see"), compressed))
    assert not STRICT["anthropic"](body) and mended(body)[0].edits == ()


def test_documents_have_a_most_of_pages() -> None:
    def many(*pages: int) -> tuple[Repair, Json, list[str]]:
        return mended(claude(result(text("see"), *(paper(pdf(count)) for count in pages))))

    assert many(20, 80)[0].edits == ()
    found, value, strict = many(20, 80, 1)
    assert [fault.violation.message for fault in found.faults] == ["101 pages of PDF, the most is 100"] and not strict
    assert json.dumps(value).count('"type": "document"') == 2
    named = {**USE, "input": {"path": "a", "kind": "document"}}
    body = claude(result(text("see")), paper(pdf(101)), text("and this?"), use=named)
    assert STRICT["anthropic"](body)
    found, value, strict = mended(body, error="messages.2.content.1.pdf: A maximum of 100 PDF pages may be provided.")
    assert '"type": "document"' not in json.dumps(value) and not strict
    found, value, strict = mended(body, error="A maximum of 100 PDF pages may be provided.")
    assert '"type": "document"' not in json.dumps(value) and json.dumps(value).count("toolu_1") == 2 and not strict


def test_many_images_are_smaller_ones() -> None:
    few = claude(result(*[GOOD] * 19, WIDE))
    assert mended(few)[0].edits == ()
    many = claude(result(*[GOOD] * 19, WIDE), GOOD)
    error = "An image in the conversation exceeds the dimension limit for many-image requests (2000px)."
    for said in ("", error, f"messages.2.content.1.image.source.base64.data: {error}"):
        found, value, strict = mended(many, error=said)
        assert [edit.params["parts"] for edit in found.edits] == [[19]] and not strict
        assert json.dumps(value).count('"type": "image"') == 20


@pytest.mark.parametrize("url", ["data:image/png;base64,", "data:image/png;base64,%%"])
def test_a_data_url_has_data(url: str) -> None:
    responses = json.loads(json.dumps(RESPONSES))
    responses["input"][0]["content"].append({"type": "input_image", "image_url": url})
    responses["input"][2]["output"].append({"type": "input_image", "image_url": url})
    chat = json.loads(json.dumps(CHAT))
    chat["messages"][1]["content"].append({"type": "image_url", "image_url": {"url": url}})
    for dialect, body in (("openai_responses", responses), ("openai_chat", chat)):
        found, value, strict = mended(body, dialect)
        assert {fault.violation.rule for fault in found.faults} == {rule.IMAGES} and not strict
        assert "data:image" not in json.dumps(value)


@pytest.mark.parametrize("cipher", [{"data": "gAAA"}, ["gAAA"], 3, True])
@pytest.mark.parametrize(
    "item",
    [
        {"type": "reasoning", "id": "rs_1", "summary": []},
        {"type": "compaction", "id": "cmp_1"},
        {"type": "agent_message", "author": "a", "recipient": "b", "content": [{"type": "encrypted_content"}]},
    ],
)
def test_what_is_encrypted_is_a_string(item: Body, cipher: Any) -> None:
    sealed = json.loads(json.dumps(item))
    (sealed["content"][0] if "content" in sealed else sealed)["encrypted_content"] = cipher
    body = {**RESPONSES, "input": [*RESPONSES["input"][:3], sealed, *RESPONSES["input"][3:]]}
    assert rule.ENCRYPTED in {one.rule for one in check("openai_responses", body)}
    found, value, strict = mended(body, "openai_responses")
    assert {fault.violation.rule for fault in found.faults} == {rule.ENCRYPTED} and not strict
    assert "encrypted_content" not in json.dumps(value)


@pytest.mark.parametrize("kind", ["compaction", "compaction_summary"])
def test_an_item_of_nothing_but_encrypted_content_has_it(kind: str) -> None:
    body = {**RESPONSES, "input": [*RESPONSES["input"][:3], {"type": kind, "id": "cmp_1"}, *RESPONSES["input"][3:]]}
    assert [one.rule for one in check("openai_responses", body)] == [rule.ENCRYPTED]


def test_sealed_content_with_half_a_pair_goes() -> None:
    sealed = {"type": "compaction", "id": "cmp_1", "encrypted_content": "gAAA\ud83e"}
    body = {**RESPONSES, "input": [*RESPONSES["input"][:3], sealed, *RESPONSES["input"][3:]]}
    found, value, _ = mended(body, "openai_responses")
    assert [edit.kind for edit in found.edits] == ["drop"] and "compaction" not in json.dumps(value)


@pytest.mark.parametrize(
    ("error", "wanted"),
    [
        ("messages.2.content.0: image was given as image/jpeg, which does not match its bytes", rule.IMAGES),
        ("Invalid 'input[0].content[1].image_url'", rule.IMAGES),
        ("Expected base64-encoded data in input[0]", rule.IMAGES),
        ("messages.2.content.0: Tool reference 'find' not found in available tools", rule.REFERENCE),
        ("input[3].encrypted_content: expected a string", rule.ENCRYPTED),
    ],
)
def test_an_error_text_names_its_rule(error: str, wanted: str) -> None:
    fault = from_error_text(context_of(CLAUDE, "anthropic")[0], error)
    assert fault is not None and fault.violation.rule == wanted


@pytest.mark.parametrize("data", ["", None, {"a": 1}])
def test_redacted_thinking_is_a_string(data: Any) -> None:
    body = claude(result(text("x")))
    body["messages"][1]["content"].insert(0, {"type": "redacted_thinking", "data": data})
    assert [one.path for one in check("anthropic", body)] == ["$.messages[1].content[0].data"]


def test_arguments_of_tools_may_be_called_so() -> None:
    use = {**USE, "input": {"encrypted_content": {"mine": 1}}}
    assert mended(claude(result(text("x")), use=use))[0].edits == ()


def test_a_turn_with_thinking_begins_with_it() -> None:
    settings: Body = {"thinking": {"type": "enabled", "budget_tokens": 4000}, "model": "claude-sonnet-4-5"}
    body = claude(result(text("x")), **settings)
    del body["messages"][2]["content"][1:]
    body["messages"][1]["content"][:1] = []
    assert STRICT["anthropic"](body)
    found, value, strict = mended(body)
    assert [fault.violation.rule for fault in found.faults] == [rule.THINKING_FIRST] and not strict
    assert value["messages"][:3] == body["messages"], "nothing goes: a person says something, so that a new turn begins"
    assert mended({**body, "thinking": {"type": "disabled"}})[0].edits == ()
    assert mended(claude(result(text("x")), **settings))[0].edits == (), "a person spoke since"


def test_the_page_of_rules_names_every_kind() -> None:
    page = (Path(__file__).parents[3] / "docs" / "offline.md").read_text("utf-8")
    table = page.partition("## Rules of a conversation")[2].partition("\n## ")[0]
    named = {name for line in table.splitlines() for name in re.findall(r"`([a-z ]+)`", line.split(" | ")[0])}
    assert named - {"ctxtui repair", "ctxtui offline", "repair"} == {
        value for name, value in vars(rule).items() if name.isupper() and isinstance(value, str)
    }
