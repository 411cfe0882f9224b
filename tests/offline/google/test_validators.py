"""What the strict validators of Google's API refuse, rule by rule."""

from __future__ import annotations

from typing import Any

import pytest

from ctxtui.offline.google.models import gemini
from ctxtui.offline.google.validate import refusals
from tests.offline.talks import Edit, at, edited, google, without

CALL = {"functionCall": {"id": "2", "name": "read_file", "args": {}}}
ANSWER = {"functionResponse": {"id": "2", "name": "read_file", "response": {}}}
DECLARED = "tools.0.functionDeclarations.0"

CASES: list[tuple[str, Edit, str, str]] = [
    ("no contents", without("contents"), "no contents", "contents is not specified"),
    ("unknown member", at("foo", 1), "unknown name", 'Unknown name "foo": Cannot find field.'),
    ("unknown inside", at("contents.0.parts.0.foo", 1), "unknown name", "at 'contents[0].parts[0]'"),
    ("text number", at("contents.0.parts.0.text", 4), "type", "'contents[0].parts[0].text' (TYPE_STRING), 4"),
    ("role", at("contents.1.role", "assistant"), "role", "Please use a valid role: user, model."),
    ("no parts", at("contents.0.parts", []), "empty", "contents[0].parts: contents.parts must not be empty."),
    ("no data", at("contents.0.parts.0", {"thought": True}), "no data", "required oneof field 'data'"),
    ("two data", at("contents.1.parts.1.text", "x"), "two data", "already set"),
    ("no name", without("contents.1.parts.1.functionCall.name"), "missing", "name is required"),
    ("base64", at("contents.0.parts.1", {"inlineData": {"mimeType": "image/png", "data": "%"}}), "base64", "Base64"),
    ("odd signature", at("contents.1.parts.1.thoughtSignature", "é"), "signature", "Corrupted thought signature"),
    ("no base64 signature", at("contents.1.parts.1.thoughtSignature", "%"), "signature", "Corrupted thought signature"),
    ("no signature", without("contents.1.parts.1.thoughtSignature"), "no signature", "missing a thought_signature"),
    ("call first", without("contents.0"), "call first", "function call turn comes immediately after a user turn"),
    ("no answer", without("contents.2"), "pairs", "number of function response parts is equal"),
    ("too few answers", at("contents.1.parts.2", CALL), "pairs", "number of function response parts is equal"),
    ("other answer", at("contents.2.parts.0", ANSWER), "pairs", "response parts match"),
    ("no call", without("contents.1.parts.1"), "response without call", "immediately after a function call turn"),
    ("call of user", at("contents.0.parts.1", CALL), "call of user", "role model"),
    ("tool name", at(f"{DECLARED}.name", "a b"), "tool name", "Invalid function name."),
    ("two tools", at("tools.0.functionDeclarations.1", {"name": "read_file"}), "two tools", "Duplicate function"),
    ("two schemas", at(f"{DECLARED}.parameters", {}), "two schemas", "parameters_json_schema must not be set"),
    ("most", at("generationConfig.maxOutputTokens", 99_999), "max tokens", "from 1 (inclusive) to 65537 (exclusive)"),
    ("range", at("generationConfig.temperature", 3), "range", "generationConfig.temperature"),
    (
        "choice",
        at("toolConfig", {"functionCallingConfig": {"allowedFunctionNames": ["read_file"]}}),
        "choice",
        "only when function calling mode is ANY",
    ),
    (
        "unknown tool",
        at("toolConfig", {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["x"]}}),
        "unknown tool",
        "x is not a declared function",
    ),
]


def rules(body: Any, model: str = "gemini-3.1-pro-preview") -> list[tuple[str, str]]:
    found = gemini(model)
    assert found is not None
    return [(one.rule, one.message) for one in refusals(body, found)]


def test_a_legal_request_is_taken() -> None:
    assert rules(google()) == [] and rules(google(), "gemini-2.5-flash") == []


@pytest.mark.parametrize(("edit", "rule", "words"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_what_is_refused(edit: Edit, rule: str, words: str) -> None:
    first = rules(edited(google(), edit))[0]
    assert first[0] == rule and words in first[1]


@pytest.mark.parametrize(
    "edit",
    [
        at("contents.1.parts.1.thoughtSignature", "skip_thought_signature_validator"),
        # google-genai names the tool alone.
        without("contents.2.parts.0.functionResponse.id"),
        at("contents.0.parts", {"text": "one part without a list"}),
        at("system_instruction", {"parts": {"text": "in snake case"}}),
        at("contents.3", {"role": "user", "parts": [{"text": "steps before these words need no signature"}]}),
    ],
)
def test_what_is_taken_besides(edit: Edit) -> None:
    body = edited(google(), edit)
    if "system_instruction" in body:
        del body["systemInstruction"]
    if len(body["contents"]) == 4:
        del body["contents"][1]["parts"][1]["thoughtSignature"]
    assert rules(body) == []


def test_older_models_want_no_signature_and_do_not_all_think() -> None:
    unsigned = edited(google(), without("contents.1.parts.1.thoughtSignature"))
    assert rules(unsigned, "gemini-2.5-flash") == []
    assert [rule for rule, _ in rules(google(), "gemini-2.0-flash")] == ["thinking"]
