"""Continue's sessions: one JSON with messages, tool results, and the usage of each answer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from msgspec.structs import replace

from ctxtui.core.call import COPIED_BY, Call, EpochStart
from ctxtui.core.canonical import Json
from ctxtui.core.json_values import as_count, as_dict, as_list, as_str
from ctxtui.core.session import Described, Event
from ctxtui.core.tree import ROOT, Tree
from ctxtui.core.usage import Usage
from ctxtui.transcripts.kit import file_head, messages
from ctxtui.transcripts.kit.dialogue import Dialogue, Ids, emit_sum
from ctxtui.transcripts.kit.fields import COPIED, as_dicts, get_path
from ctxtui.transcripts.kit.messages import make_message
from ctxtui.transcripts.kit.readers import decode_column, json_reader

NAME: Final = "continue cli"
SUMMARY: Final = "conversationSummary"
CONTENT: Final = "content"
CALLS: Final = "toolCalls"
RESULTS: Final = "toolCallStates"
_CANCELLED: Final = "Tool cancelled"
"""Sent by the client as the result of a call without an output."""
_FIGURES: Final[tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]] = (
    (("prompt_tokens",), ("promptTokens",)),
    (("completion_tokens",), ("completionTokens",)),
    (("prompt_tokens_details", "cached_tokens"), ("promptTokensDetails", "cachedTokens")),
    (("prompt_tokens_details", "cache_write_tokens"), ("promptTokensDetails", "cacheWriteTokens")),
)
"""Path of a figure in an answer's report, and of its sum in the session's."""


def sniff(head: bytes, name: str) -> float:
    first = next(iter(file_head.parse_values(head)), None)
    items = as_dicts(as_dict(first).get("history"))
    has_keys = {"sessionId", "history"} <= as_dict(first).keys() and "workspaceDirectory" in as_dict(first)
    return 0.95 if has_keys and (not items or "message" in items[0]) else 0.0


def read_session(value: Json, tree: Tree) -> Iterator[Event]:
    session, ids = as_dict(value), Ids()
    dialogue, thoughts = Dialogue(tree, ids=ids), list[Json]()
    reports: list[Json] = []
    history = as_dicts(session.get("history"))
    for item in history:
        message = as_dict(item.get("message"))
        role, parts = as_str(message.get("role")), list(item_parts(item, is_last=item is history[-1]))
        content = [part.value for part in parts if part.member != RESULTS]
        if as_str(item.get(SUMMARY)):
            dialogue.restart(EpochStart.COMPACTION, head=tree.extend(ROOT, make_message("assistant", *content)))
        elif role == "thinking":
            thoughts += content
        elif role == "assistant":
            copied_by = as_str(item.get(COPIED))
            # The session's sums have only its own calls.
            reports += [] if copied_by else [message.get("usage")]
            call = Call("", "", model=as_str(get_path(message, "usage", "model")), usage=usage(message.get("usage")))
            call = replace(call, extra={COPIED_BY: copied_by}) if copied_by else call
            yield dialogue.add_call(make_message("assistant", *thoughts, *content), call)
            results = [part.value for part in parts if part.member == RESULTS]
            dialogue.add(make_message("user", *results) if results else [])
            thoughts = []
        else:
            dialogue.add(make_message(role or "user", *content))
    yield dialogue.tip_event()
    unreported = _unreported_usage(session.get("usage"), reports)
    if unreported is not None:
        yield from emit_sum(
            tree, ids, Call("", "", usage=unreported), [call for call in dialogue.unreported if not call.is_copy]
        )
    title = as_str(session.get("title"))
    cwd = as_str(session.get("workspaceDirectory")).removeprefix("file://")
    yield Described(
        id=as_str(session.get("sessionId")),
        source=NAME,
        cwd=cwd,
        title=dialogue.title if title in ("", "Untitled Session", "New Session") else title,
    )


class ItemPart(NamedTuple):
    """One part of an item of the history, as a `value` in the spelling of blocks.

    It is at the 0-based `position` in the item's `member`; `CONTENT` and `CALLS` are members of its message.
    """

    member: str
    position: int
    value: Json


def item_parts(item: dict[str, Json], *, is_last: bool) -> Iterator[ItemPart]:
    """Yield the parts of an item that a model reads; an answer's results come last.

    A call of the history's last item may still run.
    """
    message = as_dict(item.get("message"))
    role, content = as_str(message.get("role")), message.get(CONTENT)
    if summary := as_str(item.get(SUMMARY)):
        yield ItemPart(SUMMARY, 0, messages.text(summary))
        return
    if role == "thinking":
        yield ItemPart(CONTENT, 0, messages.thinking(as_str(content), message.get("signature")))
        return
    for n, attached in _numbered(item.get("contextItems") if role != "assistant" else None):
        yield ItemPart("contextItems", n, messages.text(attached.get("content")))
    if isinstance(content, str):
        yield from [ItemPart(CONTENT, 0, messages.text(content))] if content else []
    for n, part in _numbered(content):
        value: Json = {"type": "image_url", "image_url": part["imageUrl"]} if "imageUrl" in part else part
        yield ItemPart(CONTENT, n, value)
    if role == "assistant":
        for n, call in _numbered(message.get(CALLS)):
            function = as_dict(call.get("function"))
            arguments = decode_column(as_str(function.get("arguments")))
            yield ItemPart(CALLS, n, messages.tool_use(call.get("id"), function.get("name"), arguments))
        for n, state in _numbered(item.get(RESULTS)):
            yield ItemPart(RESULTS, n, _tool_result(state, "" if is_last else _CANCELLED))


def _numbered(value: Json) -> list[tuple[int, dict[str, Json]]]:
    return [(n, part) for n, part in enumerate(as_list(value)) if isinstance(part, dict)]


def _tool_result(state: dict[str, Json], without_output: str) -> Json:
    outputs = as_dicts(state.get("output"))
    text = "\n".join(as_str(output.get("content")) for output in outputs) if outputs else without_output
    return messages.tool_result(state.get("toolCallId"), text, error=state.get("status") == "errored")


def _excludes_cache(report: Json) -> bool:
    """Whether the cache's tokens are excluded from the prompt's (Anthropic)."""
    return bool(as_dict(get_path(report, "prompt_tokens_details")).keys() & {"cache_read_tokens", "cache_write_tokens"})


def usage(report: Json) -> Usage | None:
    figures, details = as_dict(report), as_dict(get_path(report, "prompt_tokens_details"))
    written = as_count(details.get("cache_write_tokens"))
    read = as_count(details.get("cache_read_tokens")) or as_count(details.get("cached_tokens"))
    prompt, output = as_count(figures.get("prompt_tokens")), as_count(figures.get("completion_tokens"))
    if not (prompt or output or read or written):
        return None
    fresh = prompt if _excludes_cache(report) or read > prompt else prompt - read
    reasoning = as_count(get_path(figures, "completion_tokens_details", "reasoning_tokens"))
    return Usage(fresh, read, write_5m=written, output=output, reasoning=reasoning)


def _unreported_usage(session: Json, reports: list[Json]) -> Usage | None:
    remaining = [
        as_count(get_path(session, *session_path)) - sum(as_count(get_path(report, *part)) for report in reports)
        for part, session_path in _FIGURES
    ]
    prompt, output, read, written = (max(0, tokens) for tokens in remaining)
    details = {
        "cached_tokens": read,
        **({"cache_write_tokens": written} if written or any(map(_excludes_cache, reports)) else {}),
    }
    return usage({"prompt_tokens": prompt, "completion_tokens": output, "prompt_tokens_details": details})


reader = json_reader(read_session)
