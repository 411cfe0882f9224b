"""Convert each dialect's usage report to a `Usage` (facts §1, §4, §5).

A *pass* is one run of a model inside an answer. A provider may run several: one compacts, the last one answers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from ctxtui.core.canonical import Json
from ctxtui.core.json_values import as_count, as_dict, as_list, as_number
from ctxtui.core.usage import Usage

_ANSWER_PASSES: Final = frozenset({"message", "fallback_message"})
"""Kinds of passes that answer the request; others (compaction, advisor) read another context."""
_MAPPED_KEYS: Final = frozenset(
    """
    input_tokens output_tokens total_tokens prompt_tokens completion_tokens cache_read_input_tokens
    cache_creation_input_tokens ephemeral_5m_input_tokens ephemeral_1h_input_tokens thinking_tokens cached_tokens
    cache_write_tokens cache_creation_tokens reasoning_tokens text_tokens ttl_30m_tokens ttl_12h_tokens
    prompt_cache_hit_tokens prompt_cache_miss_tokens cost service_tier speed inference_geo promptTokenCount
    candidatesTokenCount thoughtsTokenCount cachedContentTokenCount toolUsePromptTokenCount totalTokenCount
    inputTokens outputTokens totalTokens cacheReadInputTokens cacheWriteInputTokens
""".split()
)
"""Names of figures that `Usage` or the billing terms of a call hold."""


def extra_usage(report: Json) -> dict[str, Json]:
    """For `Call.extra`: the report, if it says more than `Usage` and the billing terms; else {}."""
    return {"usage": report} if _has_unmapped(report) else {}


def _has_unmapped(value: Json) -> bool:
    if isinstance(value, list):
        return any(map(_has_unmapped, value))
    if not isinstance(value, dict):
        return False
    return any(
        _has_unmapped(member) if isinstance(member, dict | list) else bool(member) and name not in _MAPPED_KEYS
        for name, member in value.items()
    )


def anthropic_usage(report: Json) -> Usage | None:
    """Convert an Anthropic report, whose input excludes the cache. None if it reports nothing."""
    if not isinstance(report, dict) or ("input_tokens" not in report and "output_tokens" not in report):
        return None
    split = as_dict(report.get("cache_creation"))
    hour = as_count(split.get("ephemeral_1h_input_tokens"))
    minutes = as_count(split.get("ephemeral_5m_input_tokens"))
    read, written = report.get("cache_read_input_tokens"), report.get("cache_creation_input_tokens")
    # An unsplit write has the default TTL of 5 minutes (facts §2).
    minutes += max(0, as_count(written) - hour - minutes)
    return Usage(
        fresh=as_count(report.get("input_tokens")),
        cache_read=as_count(read),
        write_5m=minutes,
        write_1h=hour,
        output=as_count(report.get("output_tokens")),
        reasoning=as_count(as_dict(report.get("output_tokens_details")).get("thinking_tokens")),
        has_cache=read is not None or written is not None or bool(split),
        cost=as_number(report.get("cost")),
    )


def anthropic_passes(report: Json) -> tuple[Usage | None, tuple[Usage, ...]]:
    """The usage of the answered context, and of every pass; no passes if a single one answered.

    The report's top-level figures are sums over all passes except compaction; the last message pass reads the context
    that is answered (facts §1).
    """
    total = anthropic_usage(report)
    listed = report.get("iterations") if isinstance(report, dict) else None
    passes = [(str(as_dict(i).get("type")), u) for i in as_list(listed) if (u := anthropic_usage(i)) is not None]
    if total is None or not passes or (len(passes) == 1 and passes[0][0] == "message"):
        return total, ()
    last = next((u for kind, u in reversed(passes) if kind in _ANSWER_PASSES), passes[-1][1])
    return last, tuple(usage for _, usage in passes)


class Pass(NamedTuple):
    """One pass of an answer, and its usage.

    `kind`: ``message``, ``compaction``, ``advisor_message`` ...; `model`: "" for the requested model.
    """

    kind: str
    model: str
    usage: Usage


def pass_id(call: str, number: int) -> str:
    """The id of a call's pass `number` (from 1) among those that did not answer."""
    return f"{call}/{number}"


def other_passes(extra: Mapping[str, Json]) -> list[Pass]:
    """The passes of an answer, from `Call.extra`, without the one that answered."""
    listed = extra.get("iterations") or as_dict(extra.get("usage")).get("iterations")
    if not listed:
        return []
    passes = [
        Pass(str(entry.get("type")), model if isinstance(model := entry.get("model"), str) else "", usage)
        for entry in map(as_dict, as_list(listed))
        if (usage := anthropic_usage(entry)) is not None
    ]
    answered = max((n for n, entry in enumerate(passes) if entry.kind in _ANSWER_PASSES), default=len(passes) - 1)
    return [entry for n, entry in enumerate(passes) if n != answered]


def chat_usage(report: Json, body: Json = None) -> Usage | None:
    """Convert an OpenAI Chat report, whose input includes the cache.

    None if nothing is reported. `body` is the whole answer, for servers that report outside ``usage``.
    """
    around = as_dict(body)
    if not isinstance(report, dict) or not report.keys() & {"prompt_tokens", "completion_tokens"}:
        if isinstance(report, dict) and "input_tokens" in report:
            return responses_usage(report)
        return _native_usage(around)
    read, minutes, hour, half_hour, has_cache = _chat_cache(report, as_dict(around.get("timings")))
    prompt = as_count(report.get("prompt_tokens"))
    output, reasoning = _output_tokens(report, "completion", prompt)
    return Usage(
        fresh=_uncached_tokens(prompt, read + minutes + hour + half_hour),
        cache_read=read,
        write_5m=minutes,
        write_1h=hour,
        write_30m=half_hour,
        output=output,
        reasoning=reasoning,
        has_cache=has_cache,
        cost=as_number(report.get("cost")),
    )


def _chat_cache(report: dict[str, Json], timings: dict[str, Json]) -> tuple[int, int, int, int, bool]:
    """Tokens read from the cache, and written for 5 minutes, an hour and 30 minutes.

    The last value says whether the report mentions a cache.
    """
    details = as_dict(report.get("prompt_tokens_details"))
    reads = (
        details.get("cached_tokens"),
        report.get("prompt_cache_hit_tokens"),  # DeepSeek
        report.get("cache_read_input_tokens"),  # Anthropic behind a gateway
        report.get("cached_tokens"),
        timings.get("cache_n"),  # llama.cpp
    )
    gateway = (report.get("cache_creation_input_tokens"), details.get("cache_creation_tokens"))
    reported_writes = details.get("cache_write_tokens")
    split = as_dict(details.get("cache_creation_token_details")) or as_dict(report.get("cache_creation"))
    hour = as_count(split.get("ephemeral_1h_input_tokens"))
    written = max(hour + as_count(split.get("ephemeral_5m_input_tokens")), *(as_count(value) for value in gateway))
    half_hour = 0 if written else as_count(reported_writes)
    has_cache = any(value is not None for value in (*reads, *gateway, reported_writes))
    return max(as_count(value) for value in reads), written - hour, hour, half_hour, has_cache


def _uncached_tokens(total: int, cached: int) -> int:
    # An input smaller than its own cache figures excludes them.
    return total - cached if total >= cached else total


def _output_tokens(report: dict[str, Json], prefix: str, prompt: int) -> tuple[int, int]:
    """The output tokens, with reasoning, and the reasoning tokens.

    Some servers count reasoning only in the total (xAI, Gemini).
    """
    reasoning = as_count(as_dict(report.get(f"{prefix}_tokens_details")).get("reasoning_tokens"))
    output = as_count(report.get(f"{prefix}_tokens"))
    is_separate = reasoning > 0 and as_count(report.get("total_tokens")) == prompt + output + reasoning
    return output + (reasoning if is_separate or reasoning > output else 0), reasoning


def _native_usage(body: dict[str, Json]) -> Usage | None:
    """Usage that a local server reports outside ``usage``: llama.cpp's timings, Ollama's counts."""
    timings = as_dict(body.get("timings"))
    if "prompt_n" in timings:
        return Usage(
            fresh=as_count(timings["prompt_n"]),
            cache_read=as_count(timings.get("cache_n")),
            output=as_count(timings.get("predicted_n")),
            has_cache="cache_n" in timings,
        )
    if "prompt_eval_count" in body or "eval_count" in body:
        prompt, output = as_count(body.get("prompt_eval_count")), as_count(body.get("eval_count"))
        return Usage(fresh=prompt, output=output, has_cache=False)
    return None


def responses_usage(report: Json) -> Usage | None:
    """Convert an OpenAI Responses report, whose input includes the cache.

    None if it reports nothing.
    """
    if not isinstance(report, dict) or not report.keys() & {"input_tokens", "output_tokens"}:
        return None
    details = as_dict(report.get("input_tokens_details"))
    split = as_dict(details.get("cache_write_tokens_details"))
    half_day = as_count(split.get("ttl_12h_tokens"))
    written = max(as_count(details.get("cache_write_tokens")), half_day + as_count(split.get("ttl_30m_tokens")))
    read = as_count(details.get("cached_tokens"))
    prompt = as_count(report.get("input_tokens"))
    output, reasoning = _output_tokens(report, "output", prompt)
    return Usage(
        fresh=_uncached_tokens(prompt, read + written),
        cache_read=read,
        write_30m=written - half_day,
        write_12h=half_day,
        output=output,
        reasoning=reasoning,
        has_cache="cached_tokens" in details,
        cost=as_number(report.get("cost")),
    )


def google_usage(report: Json) -> Usage | None:
    """Convert a Google report, whose prompt includes what was read from the cache.

    None without a prompt count. The report's count of candidates excludes thinking. The provider leaves out zeros.
    """
    if not isinstance(report, dict) or "promptTokenCount" not in report:
        return None
    read, thoughts = as_count(report.get("cachedContentTokenCount")), as_count(report.get("thoughtsTokenCount"))
    prompt = as_count(report.get("promptTokenCount")) + google_tool_input(report)
    return Usage(
        fresh=max(0, prompt - read),
        cache_read=read,
        output=as_count(report.get("candidatesTokenCount")) + thoughts,
        reasoning=thoughts,
    )


def google_tool_input(report: Json) -> int:
    """Input tokens that Google's own tools added."""
    return as_count(as_dict(report).get("toolUsePromptTokenCount"))
