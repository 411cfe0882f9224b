"""Parameters of a request in another dialect: each is translated, or named as lost."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ctxtui.core.call import Skeleton
from ctxtui.curation.legality.legality import check
from ctxtui.wire.registry import DIALECTS
from ctxtui.wire.request import read_answer_limit
from ctxtui.wire.translate.encode import export_request
from ctxtui.wire.translate.parameters import _SETTINGS

A, C, R, G, O = NAMES = ("anthropic", "openai_chat", "openai_responses", "google", "ollama_chat")  # noqa: E741
SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}}
NAMED = {"name": "answer", "schema": SCHEMA}


def config(**members: Any) -> dict[str, Any]:
    return {"generationConfig": members}


def calling(mode: str, **members: Any) -> dict[str, Any]:
    return {"toolConfig": {"functionCallingConfig": {"mode": mode, **members}}}


CASES: list[dict[str, dict[str, Any]]] = [
    {
        A: {"max_tokens": 9},
        C: {"max_completion_tokens": 9},
        R: {"max_output_tokens": 9},
        G: config(maxOutputTokens=9),
        O: {"options": {"num_predict": 9}},
    },
    {
        C: {"temperature": 0.5},
        R: {"temperature": 0.5},
        G: config(temperature=0.5),
        O: {"options": {"temperature": 0.5}},
    },
    {C: {"top_p": 0.5}, R: {"top_p": 0.5}, G: config(topP=0.5), O: {"options": {"top_p": 0.5}}},
    {G: config(topK=5), O: {"options": {"top_k": 5}}},
    {C: {"seed": 5}, G: config(seed=5), O: {"options": {"seed": 5}}},
    {C: {"presence_penalty": 1}, G: config(presencePenalty=1), O: {"options": {"presence_penalty": 1}}},
    {
        A: {"stop_sequences": ["END"]},
        C: {"stop": ["END"]},
        G: config(stopSequences=["END"]),
        O: {"options": {"stop": ["END"]}},
    },
    {
        C: {"response_format": {"type": "json_object"}},
        R: {"text": {"format": {"type": "json_object"}}},
        G: config(responseMimeType="application/json"),
        O: {"format": "json"},
    },
    {
        A: {"output_config": {"format": {"type": "json_schema", "schema": SCHEMA}}},
        C: {"response_format": {"type": "json_schema", "json_schema": NAMED}},
        R: {"text": {"format": {"type": "json_schema", **NAMED}}},
        G: config(responseJsonSchema=SCHEMA, responseMimeType="application/json"),
        O: {"format": SCHEMA},
    },
    {
        A: {"tool_choice": {"type": "any"}},
        C: {"tool_choice": "required"},
        R: {"tool_choice": "required"},
        G: calling("ANY"),
    },
    {
        A: {"tool_choice": {"type": "none"}},
        C: {"tool_choice": "none"},
        R: {"tool_choice": "none"},
        G: calling("NONE"),
    },
    {
        A: {"tool_choice": {"type": "tool", "name": "f"}},
        C: {"tool_choice": {"type": "function", "function": {"name": "f"}}},
        R: {"tool_choice": {"type": "function", "name": "f"}},
        G: calling("ANY", allowedFunctionNames=["f"]),
    },
    {
        A: {"tool_choice": {"type": "auto", "disable_parallel_tool_use": True}},
        C: {"parallel_tool_calls": False},
        R: {"parallel_tool_calls": False},
    },
    {
        A: {"output_config": {"effort": "low"}},
        C: {"reasoning_effort": "low"},
        R: {"reasoning": {"effort": "low"}},
        G: config(thinkingConfig={"thinkingLevel": "low"}),
        O: {"think": "low"},
    },
    {A: {"stream": True}, C: {"stream": True}, R: {"stream": True}, O: {"stream": True}},
    {C: {"verbosity": "low"}, R: {"text": {"verbosity": "low"}}},
    {C: {"store": False}, R: {"store": False}},
    {A: {"thinking": {"type": "enabled", "budget_tokens": 1024}}},
    {A: {"metadata": {"user_id": "u"}}},
    {C: {"logit_bias": {"5": 1}}},
    {R: {"truncation": "auto"}},
    {G: config(candidateCount=2)},
    {G: {"safetySettings": [{"category": "x"}]}},
    {O: {"keep_alive": "5m"}},
    {O: {"options": {"num_ctx": 8192}}},
]
"""One setting in each dialect that has it."""
ROWS = [(case, source, target) for case in CASES for source in case for target in NAMES if target != source]


def body_in(dialect: str, params: dict[str, Any]) -> bytes:
    schema: dict[str, Any] = {"type": "object", "properties": {}}
    chat = {"messages": [{"role": "user", "content": "hi"}]}
    function = {"name": "f", "parameters": schema}
    rest: dict[str, Any] = {
        A: {**chat, "tools": [{"name": "f", "input_schema": schema}]},
        C: {**chat, "tools": [{"type": "function", "function": function}]},
        O: {**chat, "tools": [{"type": "function", "function": function}]},
        R: {"input": "hi", "tools": [{"type": "function", **function}]},
        G: {"contents": [{"role": "user", "parts": [{"text": "hi"}]}], "tools": [{"functionDeclarations": [function]}]},
    }[dialect]
    return json.dumps({"model": "m", **params, **rest}).encode()


def exported(source: str, target: str, params: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    request = DIALECTS[source].decode_request(body_in(source, params), None)
    body, lost = export_request(target, request.items, request.skeleton, model="m")
    assert check(target, body) == []
    return json.loads(body), lost


def settings(body: dict[str, Any], target: str) -> dict[str, Any]:
    """The parameters of `body` without the required ones."""
    rest = {"model", "messages", "input", "contents", "tools"} | ({"max_tokens"} if target == A else set())
    return {key: value for key, value in body.items() if key not in rest}


@pytest.mark.parametrize(("case", "source", "target"), ROWS)
def test_a_parameter_is_translated_or_named(case: dict[str, dict[str, Any]], source: str, target: str) -> None:
    body, lost = exported(source, target, case[source])
    if target in case:
        assert body.items() >= case[target].items() and lost == []
        assert {**settings(body, target), **case[target]} == case[target]
    else:
        assert settings(body, target) == {} and len(lost) == 1
        names = [line.removeprefix("the parameter ").removesuffix(" (1)").split(".")[0] for line in lost]
        assert names == list(case[source])


@pytest.mark.parametrize("dialect", NAMES)
def test_the_answer_limit_is_read_in_each_dialect(dialect: str) -> None:
    """A run with Google's API reserved no tokens for the answer: its limit is in a group."""
    assert read_answer_limit(CASES[0][dialect], dialect) == 9
    assert read_answer_limit({}, dialect) == 0


def test_every_setting_of_the_table_has_a_case() -> None:
    known = {(dialect, setting) for dialect, paths in _SETTINGS.items() for setting in paths.values()}
    alike = {"metadata", "user", "safety_identifier", "prompt_cache_key", "prompt_cache_retention", "service_tier"}
    seen = {key for case in CASES for dialect, params in case.items() for key in _keys(dialect, params)}
    assert {setting for _, setting in known} - alike - {"frequency_penalty"} <= seen


def _keys(dialect: str, params: dict[str, Any], prefix: str = "") -> set[str]:
    keys: set[str] = set()
    for key, value in params.items():
        keys |= {_SETTINGS[dialect].get(prefix + key, "")}
        keys |= _keys(dialect, value, f"{prefix}{key}.") if isinstance(value, dict) else set()
    return keys


@pytest.mark.parametrize(
    ("source", "target", "params", "expected", "lost"),
    [
        (A, C, {"temperature": 0.2, "top_k": 5}, {"temperature": 0.2}, ["top_k"]),
        (C, A, {"temperature": 0.2}, {}, ["temperature"]),
        (C, R, {"stop": "END", "max_tokens": 5}, {"max_output_tokens": 5}, ["stop"]),
        (C, A, {"stop": "END"}, {"stop_sequences": ["END"]}, []),
        (A, C, {"stop_sequences": list("abcde")}, {}, ["stop_sequences"]),
        (
            C,
            R,
            {"response_format": {"type": "json_schema", "json_schema": {**NAMED, "name": "n", "strict": True}}},
            {"text": {"format": {"type": "json_schema", "name": "n", "schema": SCHEMA, "strict": True}}},
            [],
        ),
        (C, R, {"response_format": {"type": "text"}, "n": 1, "stream": False, "user": None}, {}, []),
        (C, A, {"tool_choice": {"type": "function", "function": {"name": "gone"}}}, {}, ["tool_choice"]),
        (C, A, {"tool_choice": "none", "parallel_tool_calls": False}, {"tool_choice": {"type": "none"}}, []),
        (C, A, {"parallel_tool_calls": True, "tool_choice": "auto"}, {}, []),
        (
            A,
            R,
            {"tool_choice": {"type": "any", "disable_parallel_tool_use": True}},
            {"tool_choice": "required", "parallel_tool_calls": False},
            [],
        ),
        (
            G,
            C,
            {"generation_config": {"top_p": 0.5, "response_mime_type": "application/json", "response_schema": SCHEMA}},
            {"top_p": 0.5, "response_format": {"type": "json_schema", "json_schema": NAMED}},
            [],
        ),
        (C, G, {"stream": True}, {}, ["stream"]),
        (O, C, {"think": True, "options": {"num_predict": -1}}, {}, ["think"]),
        (R, A, {"reasoning": {"effort": "minimal", "summary": "auto"}}, {}, ["reasoning.effort", "reasoning.summary"]),
        (R, C, {"previous_response_id": None, "include": ["x"], "metadata": {}}, {}, ["include"]),
    ],
)
def test_values_of_several_spellings(
    source: str, target: str, params: dict[str, Any], expected: dict[str, Any], lost: list[str]
) -> None:
    body, lines = exported(source, target, params)
    assert settings(body, target) == expected
    assert lines == [f"the parameter {name} (1)" for name in lost]


def test_a_skeleton_of_an_unknown_dialect_loses_its_parameters_by_name() -> None:
    request = DIALECTS[C].decode_request(body_in(C, {"temperature": 1}), None)
    _, lost = export_request(A, request.items, Skeleton("other", request.skeleton.parts), model="m")
    assert lost == ["the parameter temperature (1)"]
