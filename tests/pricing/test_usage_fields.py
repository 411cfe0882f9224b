"""The table of what reports say: every field of the installed SDKs' types is in it, and does what it says."""

from __future__ import annotations

import typing
from collections.abc import Iterator
from typing import Any

import anthropic.types as messages
import anthropic.types.beta as beta_messages
import openai.types as chat
import openai.types.beta as beta_responses
import openai.types.responses as responses
import pytest
from openai.types.responses.response import ToolUsage
from pydantic import BaseModel

from ctxtui.core.call import Call
from ctxtui.pricing.price import Cost, lacks_price, price_call
from ctxtui.pricing.table import UsageField, parse_usage_fields
from ctxtui.services.config.package_data import DATA, price_table
from ctxtui.transcripts.kit.http_exchange import bedrock, cohere
from ctxtui.wire import anthropic, google, openai_chat, openai_responses
from ctxtui.wire.request import Response

NOVEMBER_2026 = 1795219200.0
FIELDS = parse_usage_fields((DATA / "usage.toml").read_text())
SDK: dict[str, tuple[type[BaseModel], str]] = {
    "anthropic": (messages.Usage, ""),
    "anthropic delta": (messages.MessageDeltaUsage, ""),
    "anthropic beta": (beta_messages.BetaUsage, ""),
    "anthropic beta delta": (beta_messages.BetaMessageDeltaUsage, ""),
    "openai chat": (chat.CompletionUsage, ""),
    "openai responses": (responses.ResponseUsage, ""),
    "openai responses beta": (beta_responses.BetaResponseUsage, ""),
    "openai responses tools": (ToolUsage, "tool_usage."),
}


def leaves(kind: Any, path: str = "") -> Iterator[str]:
    """The paths of all that a type of an SDK can hold."""
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        for name, one in kind.model_fields.items():
            yield from leaves(one.annotation, f"{path}.{name}" if path else name)
        return
    of = [one for one in typing.get_args(kind) if one is not type(None)]
    origin = typing.get_origin(kind)
    if origin is typing.Annotated:
        yield from leaves(of[0], path)
    elif origin is list:
        yield from leaves(of[0], f"{path}[]")
    elif origin is typing.Literal or not of:
        yield path
    else:
        for one in of:
            yield from leaves(one, path)


@pytest.mark.parametrize("name", SDK)
def test_every_field_of_the_installed_sdks_is_in_the_table(name: str) -> None:
    kind, prefix = SDK[name]
    known = {field.path for field in FIELDS if name.startswith(field.of)}
    missing = {prefix + path for path in leaves(kind)} - known
    assert not missing, f"{kind.__module__}.{kind.__name__} has fields that ctxtui/data/usage.toml says nothing of"


def test_every_row_has_a_source_and_one_treatment() -> None:
    assert all(field.source for field in FIELDS)
    rows = [(field.of, field.path) for field in FIELDS]
    assert len(rows) == len(set(rows))


BASE: dict[str, tuple[str, dict[str, Any]]] = {
    "anthropic": ("claude-opus-4-8", {"input_tokens": 1000, "output_tokens": 100}),
    "openai chat": ("gpt-6.1-sol", {"prompt_tokens": 9000, "completion_tokens": 4000, "total_tokens": 13000}),
    "openai responses": ("gpt-6.1-sol", {"input_tokens": 9000, "output_tokens": 4000, "total_tokens": 13000}),
    "google": ("gemini-2.5-pro", {"promptTokenCount": 9000, "candidatesTokenCount": 100}),
    "bedrock converse": ("us.anthropic.claude-opus-4-8", {"inputTokens": 1000, "outputTokens": 100}),
    "deepseek, kimi, glm, minimax": ("deepseek-chat", {"prompt_tokens": 9000, "completion_tokens": 100}),
    "openrouter": ("gpt-6.1-sol", {"prompt_tokens": 9000, "completion_tokens": 4000}),
    "litellm": ("claude-opus-4-8", {"prompt_tokens": 9000, "completion_tokens": 100}),
    "x-ai": ("grok-4", {"prompt_tokens": 9000, "completion_tokens": 100}),
    "perplexity": ("grok-4", {"prompt_tokens": 9000, "completion_tokens": 100}),
    "mistral": ("mistral-large-latest", {"prompt_tokens": 9000, "completion_tokens": 100}),
}
AROUND = ("service_tier", "tool_usage", "serviceTier", "performanceConfig")
"""What stands beside the report in the answer."""
TERMS = {"service_tier": "priority", "speed": "fast", "inference_geo": "us"}


def answered(of: str, report: dict[str, Any], around: dict[str, Any]) -> Response:
    """The answer with this report, as its API gives it."""
    match of:
        case "anthropic":
            message = {"type": "message", "role": "assistant", "content": [], "stop_reason": "end_turn"}
            return anthropic.decode_response({**message, "usage": {**report, **around}})
        case "openai responses":
            return openai_responses.decode_response({"id": "r", "output": [], "usage": report, **around})
        case "google":
            return google.decode_response({"candidates": [{"finishReason": "STOP"}], "usageMetadata": report, **around})
        case "bedrock converse":
            return bedrock.decode_answer({"output": {"message": {"content": []}}, "usage": report, **around})
        case "cohere":
            return cohere.decode_answer({"message": {"content": []}, "usage": report, **around})
    return openai_chat.decode_response({"choices": [], "usage": report, **around})


def priced(of: str, model: str, report: dict[str, Any], around: dict[str, Any]) -> tuple[Cost, bool]:
    """What such an answer costs, and whether the price of some of it is not known."""
    found = answered(of, report, around)
    call = Call("c", "main", model=model, started=NOVEMBER_2026, usage=found.usage, extra=found.extra)
    cost = price_call(call, price_table())
    assert cost is not None
    return cost, lacks_price(call, cost)


def put(report: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    """`report` with `value` at `path`."""
    name, _, rest = path.partition(".")
    name, bracket, chosen = name.partition("[")
    if not bracket:
        return {**report, name: put(report.get(name) or {}, rest, value) if rest else value}
    key, _, kind = chosen.rstrip("]").partition("=")
    return {**report, name: [put({key: kind} if key else {}, rest, value)]}


@pytest.mark.parametrize(
    "field",
    [field for field in FIELDS if field.of in BASE and field.treatment not in ("pass", "term")],
    ids=lambda field: f"{field.of}: {field.path}",
)
def test_a_field_does_to_the_price_what_the_table_says(field: UsageField) -> None:
    model, report = BASE[field.of]
    name = field.path.split(".")[0].partition("[")[0]
    plain, lacks = priced(field.of, model, report, {})
    assert not lacks
    value = "other" if field.path.rsplit(".", 1)[-1] in ("type", "latency", "trafficType", "reason") else 700
    told = put({} if name in AROUND else report, field.path, value)
    cost, lacks = priced(field.of, model, *((report, told) if name in AROUND else (told, {})))
    assert lacks == (field.treatment == "unpriced"), cost
    if field.treatment == "priced":
        assert cost.usd != pytest.approx(plain.usd)
    else:
        assert cost.usd == pytest.approx(plain.usd)


@pytest.mark.parametrize("of", ["anthropic", "openai chat", "openai responses"])
def test_a_term_decides_every_rate_or_is_said_to_be_unknown(of: str) -> None:
    model, report = BASE[of]
    plain, _ = priced(of, model, report, {})
    for field in FIELDS:
        if field.of == of and field.treatment == "term":
            cost, lacks = priced(of, model, report, {field.path: TERMS[field.path]})
            assert lacks or cost.usd > plain.usd, field
    for usual in ("default", "standard", "auto"):
        assert priced(of, model, report, {"service_tier": usual}) == (plain, False)


def test_sound_in_and_out_is_the_least_that_it_can_be() -> None:
    report = {
        "prompt_tokens": 900,
        "completion_tokens": 100,
        "prompt_tokens_details": {"audio_tokens": 500, "cached_tokens": 0},
    }
    cost, lacks = priced("openai chat", "gpt-4o", report, {})
    assert lacks and cost.lacks == ("prompt_tokens_details.audio_tokens",)
