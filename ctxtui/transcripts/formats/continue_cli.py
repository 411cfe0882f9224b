"""Continue's sessions: one JSON with messages, tool results, and the usage of each answer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ctxtui.core import canonical
from ctxtui.core.call import Call, EpochStart
from ctxtui.core.canonical import Json
from ctxtui.core.session import Described, Event
from ctxtui.core.tree import ROOT, Tree
from ctxtui.core.usage import Usage
from ctxtui.transcripts.kit import file_head, messages
from ctxtui.transcripts.kit.dialogue import Dialogue, Ids, emit_sum
from ctxtui.transcripts.kit.fields import as_count, as_dict, as_dicts, as_str, get_path
from ctxtui.transcripts.kit.messages import make_message
from ctxtui.transcripts.kit.readers import json_reader

NAME: Final = "continue cli"
_FIGURES: Final[tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]] = (
    (("prompt_tokens",), ("promptTokens",)),
    (("completion_tokens",), ("completionTokens",)),
    (("prompt_tokens_details", "cached_tokens"), ("promptTokensDetails", "cachedTokens")),
    (("prompt_tokens_details", "cache_write_tokens"), ("promptTokensDetails", "cacheWriteTokens")),
)
"""Path of a figure in an answer's report, and of its sum in the session's."""


def sniff(head: bytes, name: str) -> float:
    """Confidence that `head` begins a session."""
    first = next(iter(file_head.parse_values(head)), None)
    items = as_dicts(as_dict(first).get("history"))
    has_keys = {"sessionId", "history"} <= as_dict(first).keys() and "workspaceDirectory" in as_dict(first)
    return 0.95 if has_keys and (not items or "message" in items[0]) else 0.0


def read_session(value: Json, tree: Tree) -> Iterator[Event]:
    """Yield the events of a session."""
    session, ids = as_dict(value), Ids()
    dialogue, thoughts = Dialogue(tree, ids=ids), list[Json]()
    reports: list[Json] = []
    for item in as_dicts(session.get("history")):
        message = as_dict(item.get("message"))
        role = as_str(message.get("role"))
        if summary := as_str(item.get("conversationSummary")):
            head = tree.extend(ROOT, make_message("assistant", messages.text(summary)))
            dialogue.restart(EpochStart.COMPACTION, head=head)
        elif role == "thinking":
            thoughts.append(messages.thinking(as_str(message.get("content")), message.get("signature")))
        elif role == "assistant":
            reports.append(message.get("usage"))
            call = Call("", "", model=as_str(get_path(message, "usage", "model")), usage=usage(message.get("usage")))
            yield dialogue.add_call(
                make_message("assistant", *thoughts, *_message_parts(message.get("content")), *_tool_calls(message)),
                call,
            )
            results = [_tool_result(state) for state in as_dicts(item.get("toolCallStates"))]
            dialogue.add(make_message("user", *results) if results else [])
            thoughts = []
        else:
            context = [
                messages.text(context_item.get("content")) for context_item in as_dicts(item.get("contextItems"))
            ]
            dialogue.add(make_message(role or "user", *context, *_message_parts(message.get("content"))))
    yield dialogue.tip_event()
    unreported = _unreported_usage(session.get("usage"), reports)
    if unreported is not None:
        yield from emit_sum(tree, ids, Call("", "", usage=unreported), dialogue.unreported)
    title = as_str(session.get("title"))
    cwd = as_str(session.get("workspaceDirectory")).removeprefix("file://")
    yield Described(
        id=as_str(session.get("sessionId")),
        source=NAME,
        cwd=cwd,
        title=dialogue.title if title in ("", "Untitled Session", "New Session") else title,
    )


def _message_parts(content: Json) -> list[Json]:
    if isinstance(content, str):
        return [messages.text(content)] if content else []
    return [
        {"type": "image_url", "image_url": part["imageUrl"]} if "imageUrl" in part else part
        for part in as_dicts(content)
    ]


def _tool_calls(message: dict[str, Json]) -> list[Json]:
    return [
        messages.tool_use(
            call.get("id"),
            get_path(call, "function", "name"),
            _parse_arguments(as_str(get_path(call, "function", "arguments"))),
        )
        for call in as_dicts(message.get("toolCalls"))
    ]


def _parse_arguments(arguments: str) -> Json:
    try:
        return canonical.loads(arguments)
    except ValueError:
        return arguments


def _tool_result(state: dict[str, Json]) -> Json:
    words = "\n".join(as_str(output.get("content")) for output in as_dicts(state.get("output")))
    return messages.tool_result(state.get("toolCallId"), words, error=state.get("status") == "errored")


def _excludes_cache(report: Json) -> bool:
    """Whether the cache's tokens are excluded from the prompt's (Anthropic)."""
    return bool(as_dict(get_path(report, "prompt_tokens_details")).keys() & {"cache_read_tokens", "cache_write_tokens"})


def usage(report: Json) -> Usage | None:
    """Convert the usage of one answer."""
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
    """Usage of the whole session minus the `reports` of its answers."""
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
