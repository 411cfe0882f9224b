"""Google's dialect on what a real client sent, and the forms that its API takes besides."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ctxtui.core import canonical
from ctxtui.core.block_content import read
from ctxtui.core.tree import ROOT, Tree
from ctxtui.curation.apply.block_text import with_text
from ctxtui.curation.context import Context
from ctxtui.curation.legality.legality import check
from ctxtui.wire.registry import DIALECTS, encode
from ctxtui.wire.request import Request
from ctxtui.wire.translate.encode import build_body
from tests.captures import capture

GOOGLE = DIALECTS["google"]


def opened(body: Any) -> Request:
    return GOOGLE.decode_request(canonical.dumps(body), None)


def kinds(request: Request) -> list[str]:
    return [item.block.kind for item in request.items]


@pytest.mark.parametrize("path", capture("gemini-cli", "wire/*.json"))
def test_what_gemini_cli_sent_comes_back_and_is_edited_alone(path: Path) -> None:
    exchange = json.loads(path.read_text())
    raw = canonical.dumps(exchange["request"])
    request = GOOGLE.decode_request(raw, None)
    assert encode(request) == raw
    last = max((n for n, kind in enumerate(kinds(request)) if kind == "function_response"), default=-1)
    if last >= 0:
        expected = json.loads(raw)
        content = next(one for one in reversed(expected["contents"]) if "functionResponse" in one["parts"][-1])
        del content["parts"][-1]
        left = [item for n, item in enumerate(request.items) if n != last]
        if not content["parts"]:
            expected["contents"].remove(content)
            left = [item for n, item in enumerate(request.items) if n not in (last - 1, last)]
        assert json.loads(encode(request.with_items(left))) == expected
    answer = GOOGLE.decode_response(exchange["answer"])
    assert answer.complete and answer.usage is not None
    assert answer.usage.input == exchange["answer"]["usageMetadata"]["promptTokenCount"]


def test_every_form_of_contents_and_system_is_read_and_edited() -> None:
    part = {"text": "hi"}
    for contents in ("hi", {"parts": part}, {"parts": [part], "role": "user"}, [{"parts": part}], [{"parts": [part]}]):
        for key, system in (("systemInstruction", {"parts": part}), ("system_instruction", {"parts": [part]})):
            body = {key: system, "contents": contents}
            request = opened(body)
            assert kinds(request) == ["text", "header", "text"]
            assert json.loads(encode(request)) == body
            more = [*request.items, *request.items[1:]]
            edited = json.loads(encode(request.with_items([request.items[0], *more])))
            assert [one.block for one in opened(edited).items if one.block.kind == "text"] == [
                one.block for one in (request.items[0], *more) if one.block.kind == "text"
            ]
            assert len(edited[key]["parts"]) == 2 and len(edited["contents"]) == 2


def test_tools_are_blocks_of_their_own_and_stay_in_their_objects() -> None:
    declared = [{"name": name, "parameters": {"type": "OBJECT"}} for name in ("a", "b", "c")]
    body: dict[str, Any] = {
        "contents": [{"parts": [{"text": "hi"}]}],
        "tools": [{"functionDeclarations": declared}, {"googleSearch": {}}],
    }
    request = opened(body)
    assert kinds(request)[:4] == ["tool"] * 4
    left = json.loads(encode(request.with_items([request.items[1], *request.items[3:]])))
    assert left["tools"] == [{"functionDeclarations": [declared[1]]}, {"googleSearch": {}}]
    only = json.loads(encode(request.with_items(request.items[3:])))
    assert only["tools"] == [{"googleSearch": {}}]
    made, lost = build_body("anthropic", request.items, model="claude")
    assert [tool["input_schema"]["type"] for tool in json.loads(made)["tools"]] == ["object"] * 3
    assert lost == ["tools of one provider only (1)"]


@pytest.mark.parametrize(
    ("response", "text", "edited"),
    [
        ({"output": "one"}, "one", {"output": "two"}),
        ({"error": "one"}, "one", {"error": "two"}),
        ({"name": "read", "content": "one"}, "one", {"name": "read", "content": "two"}),
        ({"lines": ["one"]}, '{"lines":["one"]}', {"output": "two"}),
    ],
)
def test_a_response_is_its_text_and_takes_another(response: Any, text: str, edited: Any) -> None:
    part = {"functionResponse": {"id": "1", "name": "read", "response": response}}
    (_, item) = opened({"contents": [{"role": "user", "parts": [part]}]}).items
    assert read(item.block).text == text and read(item.block).is_error == ("error" in response)
    changed = with_text(item.block, "two").value()
    assert changed == {"functionResponse": {"id": "1", "name": "read", "response": edited}}


def test_parallel_calls_without_ids_are_paired_in_their_order() -> None:
    call = {"functionCall": {"name": "read", "args": {}}}
    answers = [{"functionResponse": {"name": "read", "response": {"output": text}}} for text in ("one", "two")]
    said = [
        {"role": "user", "parts": [{"text": "go"}]},
        {"role": "model", "parts": [call, call]},
        {"role": "user", "parts": answers},
    ]
    request = opened({"contents": said})
    assert check("google", {"contents": said}) == []
    tree = Tree()
    context = Context(tree, tree.extend(ROOT, request.items), "google")
    assert context.partners == {3: (6,), 6: (3,), 4: (7,), 7: (4,)} and not context.unanswered
    assert [read(request.items[n].block).text for n in (6, 7)] == ["one", "two"]
    lone = {"contents": [*said[:2], {"role": "user", "parts": answers[:1]}]}
    assert [one.rule for one in check("google", lone)] == ["pair"]


def test_the_first_call_of_a_step_needs_its_signature_where_calls_have_them() -> None:
    def step(id_: str, signed: bool) -> list[dict[str, Any]]:
        call = {"functionCall": {"id": id_, "name": "read", "args": {}}}
        answer = {"functionResponse": {"id": id_, "name": "read", "response": {"output": "x"}}}
        signature = {"thoughtSignature": "c2ln"} if signed else {}
        return [{"role": "model", "parts": [{**call, **signature}]}, {"role": "user", "parts": [answer]}]

    asked = {"role": "user", "parts": [{"text": "go"}]}
    assert check("google", {"contents": [asked, *step("1", True), *step("2", True)]}) == []
    wrong = check("google", {"contents": [asked, *step("1", True), *step("2", False)]})
    assert [one.path for one in wrong] == ["$.contents[3].parts[0]"]
    # Steps before the user's last words are not looked at.
    assert check("google", {"contents": [asked, *step("1", False), asked, *step("2", True)]}) == []
    assert check("google", {"contents": [asked, *step("1", False)]}) == []


def test_all_chunks_of_further_candidates_are_kept() -> None:
    def candidate(index: int, *texts: str, **more: str) -> dict[str, Any]:
        return {"index": index, "content": {"role": "model", "parts": [{"text": text} for text in texts]}, **more}

    chunks = [
        {"candidates": [candidate(0, "a"), candidate(1, "x", finishMessage="early")]},
        {"candidates": [candidate(1, "y"), candidate(0, "b", finishReason="STOP")]},
        {"candidates": [{"index": 1, "finishReason": "STOP"}]},
    ]
    answer = GOOGLE.decode_response(chunks)
    assert [read(item.block).text for item in answer.items if item.block.kind == "text"] == ["ab"]
    assert answer.extra["candidates"] == [candidate(1, "x", "y", finishMessage="early", finishReason="STOP")]
