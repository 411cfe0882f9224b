"""Read logs of the evaluation framework Inspect: each model event of a sample is a call.

A sample is one run of a task. One without model events is read from its messages.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from ctxtui.core import block as blocks
from ctxtui.core import canonical
from ctxtui.core.block import TOOL, Item, Place
from ctxtui.core.call import Call, EpochStart, Fidelity
from ctxtui.core.canonical import Json
from ctxtui.core.errors import Malformed
from ctxtui.core.json_values import as_count, as_dict, as_list, as_number, as_str
from ctxtui.core.session import MAIN, Described, Event, Happened, Outcome, Skipped, ThreadSeen
from ctxtui.core.tree import Tree
from ctxtui.core.usage import Usage, subtract
from ctxtui.transcripts.formats.inspect_ai import archive
from ctxtui.transcripts.kit import file_head, messages
from ctxtui.transcripts.kit.conversations import Conversation, Conversations
from ctxtui.transcripts.kit.dialogue import Dialogue, Ids, emit_sum
from ctxtui.transcripts.kit.fields import as_dicts, as_time, compaction_detail, get_path
from ctxtui.transcripts.kit.http_exchange.decode import Decoded, decode
from ctxtui.transcripts.kit.http_exchange.pair import Exchange
from ctxtui.transcripts.kit.readers import parse_json, whole_reader
from ctxtui.transcripts.kit.tasks import value_text

_MAX_ATTACHMENT_DEPTH: Final = 100
"""Levels of an event that are searched for attachments; no log nests them deeper."""

_ATTACHMENT: Final = re.compile(r"attachment://([0-9a-f]{16,64})")


def _resolve_attachments(value: Json, attachments: dict[str, Json], depth: int = _MAX_ATTACHMENT_DEPTH) -> Json:
    """Replace each ``attachment://HASH`` in `value`, up to `depth` levels deep, by its content."""
    if not attachments or depth == 0:
        return value
    if isinstance(value, str):
        if "attachment://" not in value:
            return value
        return _ATTACHMENT.sub(lambda m: as_str(attachments.get(m.group(1))) or m.group(), value)
    if isinstance(value, list):
        return [_resolve_attachments(item, attachments, depth - 1) for item in value]
    if isinstance(value, dict):
        return {key: _resolve_attachments(item, attachments, depth - 1) for key, item in value.items()}
    return value


def _messages_by_ref(refs: Json, pool: list[Json]) -> list[Json]:
    """List the entries of `pool` that `refs` name: indices, or ranges (start, end exclusive)."""
    matches: list[Json] = []
    for ref in as_list(refs):
        if isinstance(ref, int):
            matches += pool[ref : ref + 1] if ref >= 0 else []
        elif isinstance(ref, list) and len(ref) == 2:
            matches += pool[max(0, as_count(ref[0])) : as_count(ref[1])]
    return matches


def message_items(message: Json, path: str = "$") -> list[Item]:
    fields = as_dict(message)
    content = fields.get("content")
    message_members: dict[str, Json] = {"role": fields.get("role")}
    message_members["content"] = (
        content if isinstance(content, str) else [_convert_part(part) for part in as_list(content)]
    )
    if fields.get("role") == "tool":
        error = as_str(as_dict(fields.get("error")).get("message"))
        message_members |= {"tool_call_id": fields.get("tool_call_id"), "name": fields.get("function")}
        message_members["content"] = message_members["content"] or error
    calls = [_spell_call(call) for call in as_dicts(fields.get("tool_calls"))]
    return messages.message_items({**message_members, "tool_calls": calls} if calls else message_members, path)


def _spell_call(call: dict[str, Json]) -> Json:
    arguments = call.get("arguments")
    text = arguments if isinstance(arguments, str) else canonical.dump_text(arguments if arguments is not None else {})
    function = {"name": call.get("function"), "arguments": text}
    return {"id": call.get("id"), "type": "function", "function": function}


def _convert_part(part: Json) -> Json:
    fields = as_dict(part)
    match fields.get("type"):
        case "reasoning":
            text = as_str(fields.get("reasoning"))
            if fields.get("redacted") is True:
                return {"type": "redacted_thinking", "data": text}
            return messages.thinking(text, fields.get("signature"))
        case "image":
            return {"type": "image_url", "image_url": {"url": fields.get("image"), "detail": fields.get("detail")}}
    return part


def tool_items(listed_tools: Json) -> list[Item]:
    return [Item(blocks.make(TOOL, tool), Place("tools")) for tool in as_dicts(listed_tools)]


def usage(report: Json) -> Usage | None:
    """Convert Inspect's usage.

    Whether the input includes cached tokens differs between its providers and versions: the total decides, else whether
    more was cached than input. Writes count as of 5 minutes; their lifetime is not logged.
    """
    figures = as_dict(report)
    if "input_tokens" not in figures and "output_tokens" not in figures:
        return None
    input_tokens, output = as_count(figures.get("input_tokens")), as_count(figures.get("output_tokens"))
    read, written = as_count(figures.get("input_tokens_cache_read")), as_count(figures.get("input_tokens_cache_write"))
    total = as_count(figures.get("total_tokens"))
    excludes_cache = (
        total >= input_tokens + output + read + written > input_tokens + output or read + written > input_tokens
    )
    return Usage(
        fresh=input_tokens if excludes_cache else input_tokens - read - written,
        cache_read=read,
        write_5m=written,
        output=output,
        reasoning=as_count(figures.get("reasoning_tokens")),
        has_cache="input_tokens_cache_read" in figures,
        cost=as_number(figures.get("total_cost")),
    )


class _SharedParts(Struct, frozen=True):
    """Parts of a sample that its records refer to."""

    attachments: dict[str, Json]
    pool: list[Json]
    calls: list[Json]


class _SampleReader:
    """Reads one sample; the conversation with most calls is the thread `name`."""

    def __init__(self, tree: Tree, threads: Conversations, ids: Ids, name: str, label: str) -> None:
        self._tree, self._threads, self._ids, self._name, self._label = tree, threads, ids, name, label
        self._first: Conversation | None = None
        """The conversation of the first model event, to which compactions belong."""

    def read(self, sample: dict[str, Json]) -> Iterator[Event]:
        yield ThreadSeen(self._name, self._label)
        old = as_dict(sample.get("transcript"))
        shared = _SharedParts(
            as_dict(sample.get("attachments")) or as_dict(old.get("content")),
            as_list(sample.get("message_pool") or get_path(sample, "events_data", "messages")),
            as_list(sample.get("call_pool") or get_path(sample, "events_data", "calls")),
        )
        events = as_dicts(sample.get("events")) or as_dicts(old.get("events"))
        if any(event.get("event") == "model" for event in events):
            for event in events:
                yield from self._handle_event(event, shared)
        else:
            yield from self._read_messages(sample, shared)
        yield from self._sample_outcomes(sample)

    def _handle_event(self, event: dict[str, Json], shared: _SharedParts) -> Iterator[Event]:
        kind = event.get("event")
        if kind == "model":
            yield from self._handle_model_event(_resolve_attachments(event, shared.attachments), shared)
        elif kind == "compaction" and self._first is not None:
            detail = compaction_detail(
                as_count(event.get("tokens_before")), as_count(event.get("tokens_after")), "inspect"
            )
            self._first.restart = EpochStart.COMPACTION, detail
        elif kind == "error":
            yield Happened(
                "error", as_str(get_path(event, "error", "message")), self._name, as_time(event.get("timestamp"))
            )

    def _handle_model_event(self, event: dict[str, Json], shared: _SharedParts) -> Iterator[Event]:
        decoded = self._decode_request(event, shared)
        output = as_dict(event.get("output"))
        if decoded is None:
            recorded = as_list(event.get("input")) or _resolve_attachments(
                _messages_by_ref(event.get("input_refs"), shared.pool), shared.attachments
            )
            request_items = [*tool_items(event.get("tools")), *(i for m in recorded for i in message_items(m))]
        else:
            request_items = list(decoded.items)
        thread = self._threads.find(request_items, scope=self._name)
        self._first = self._first or thread
        answer = decoded.response.items if decoded else ()
        if not answer and output.get("choices"):
            answer = tuple(message_items(get_path(output, "choices", 0, "message")))
        yield from self._threads.add_request(request_items, answer, _make_call(event, output, decoded), thread)

    def _decode_request(self, event: dict[str, Json], shared: _SharedParts) -> Decoded | None:
        """Decode the request as it was sent; None if the log lacks it or it cannot be read."""
        call = as_dict(event.get("call"))
        request = dict(as_dict(call.get("request")))
        if call.get("call_refs") is not None and as_str(call.get("call_key")):
            request[as_str(call["call_key"])] = _resolve_attachments(
                _messages_by_ref(call["call_refs"], shared.calls), shared.attachments
            )
        if not request:
            return None
        body = {key: item for key, item in request.items() if item is not None}
        answer = canonical.dumps(call["response"]) if isinstance(call.get("response"), dict) else b""
        try:
            return decode(Exchange(canonical.dumps(body), answer, _api_url(as_str(event.get("model")))))
        except Malformed:
            return None

    def _read_messages(self, sample: dict[str, Json], shared: _SharedParts) -> Iterator[Event]:
        """Yield calls from the messages alone: only the usage of the last one and the sum are known."""
        dialogue = Dialogue(self._tree, self._name, self._ids)
        recorded = as_dicts(_resolve_attachments(sample.get("messages"), shared.attachments))
        output = as_dict(sample.get("output"))
        answers = [m for m in recorded if m.get("role") == "assistant" and m.get("source", "generate") == "generate"]
        for message in recorded:
            if not any(message is answer for answer in answers):
                dialogue.add(message_items(message))
                continue
            call = (
                _make_call({}, output, None)
                if message is answers[-1]
                else Call("", "", model=as_str(message.get("model")))
            )
            yield dialogue.add_call(message_items(message), call)
        yield dialogue.tip_event()
        spent = [used for r in as_dict(sample.get("model_usage")).values() if (used := usage(r)) is not None]
        if spent:
            yield from self._emit_rest(spent, usage(output.get("usage")) if answers else None, dialogue.unreported)

    def _emit_rest(self, spent: list[Usage], last: Usage | None, calls: list[Call]) -> Iterator[Event]:
        total = spent[0]
        for more in spent[1:]:
            total += more
        unreported = total
        if last is not None:
            cost = None if total.cost is None or last.cost is None else max(0.0, total.cost - last.cost)
            unreported = replace(subtract(total, last), cost=cost)
        if not calls and not unreported.input and not unreported.output:
            return
        yield from emit_sum(
            self._tree, self._ids, Call("", "", usage=unreported), calls, f"{self._name} · totals", self._name
        )

    def _sample_outcomes(self, sample: dict[str, Json]) -> Iterator[Event]:
        label = "" if self._name == MAIN else f"{self._label}: "
        for name, score in as_dict(sample.get("scores")).items():
            yield Outcome(f"{label}{name}", value_text(as_dict(score).get("value", score)))
        for name in ("error", "limit"):
            if sample.get(name):
                yield Outcome(f"{label}{name}", value_text(as_dict(sample[name]).get("message") or sample[name]))


def _api_url(model: str) -> str:
    """A made-up URL that shows a logged request's dialect; "" if its own members show it."""
    provider = model.partition("/")[0]
    return {"anthropic": "https://host/v1/messages", "google": "https://host/v1/models/m:generateContent"}.get(
        provider, ""
    )


def _make_call(event: dict[str, Json], output: dict[str, Json], decoded: Decoded | None) -> Call:
    response = decoded.response if decoded else None
    provider = as_str(event.get("model")).partition("/")[0]
    return Call(
        response.id if response else "",
        "",
        provider=provider if "/" in as_str(event.get("model")) else "",
        model=as_str(output.get("model")) or as_str(event.get("model")),
        started=as_time(event.get("timestamp")),
        ended=as_time(event.get("completed")),
        fidelity=Fidelity.WIRE if decoded else Fidelity.TRANSCRIPT,
        usage=(response.usage if response else None) or usage(output.get("usage")),
        stop_reason=as_str(get_path(output, "choices", 0, "stop_reason")),
        error=as_str(event.get("error")) or as_str(output.get("error")),
        skeleton=decoded.skeleton if decoded else None,
        extra={key: event[key] for key in ("role", "cache", "retries") if event.get(key)},
    )


NAME: Final = "inspect"
_ZIP: Final = b"PK\x03\x04"
_INSIDE: Final = (b"_journal/start.json", b"samples/", b"header.json")
_SAMPLE: Final = frozenset({"epoch", "target", "messages"})
"""Members of a sample that is a file of its own."""


def sniff(head: bytes, name: str) -> float:
    if head.startswith(_ZIP):
        return 0.9 if any(inside in head[:4096] for inside in _INSIDE) else 0.5 if name.endswith(".eval") else 0.0
    first = next(iter(file_head.parse_values(head)), None)
    if not isinstance(first, dict):
        return 0.0
    eval_info = as_dict(first.get("eval"))
    if "task" in eval_info or ("status" in first and "eval" in first):
        return 0.95
    return 0.85 if first.keys() >= _SAMPLE else 0.0


def _parse(data: bytes, tree: Tree) -> tuple[list[Event], Skipped | None]:
    if data.startswith(_ZIP):
        log, skipped = archive.read_log(data)
        return [*_read_log_events(log, tree), *skipped], None
    value, tail = parse_json(data)
    return list(_read_log_events(as_dict(value), tree)), tail


reader = whole_reader(_parse)


def _read_log_events(log: dict[str, Json], tree: Tree) -> Iterator[Event]:
    eval_info = as_dict(log.get("eval"))
    title = as_str(eval_info.get("task"))
    packages = as_dict(eval_info.get("packages"))
    yield Described(
        as_str(eval_info.get("run_id")), title, NAME, client="inspect_ai", version=as_str(packages.get("inspect_ai"))
    )
    ids, threads = Ids(), Conversations(tree)
    samples = as_list(log.get("samples")) if "samples" in log else [log] if log.keys() >= _SAMPLE else []
    label_counts: dict[str, int] = {}
    for n, sample in enumerate(samples):
        if not isinstance(sample, dict):
            yield Skipped(1, f"a sample that is not an object @ $.samples[{n}]")
            continue
        label = f"sample {value_text(sample.get('id'))} epoch {value_text(sample.get('epoch'))}"
        label_counts[label] = label_counts.get(label, 0) + 1
        name = label if label_counts[label] == 1 else f"{label} ({label_counts[label]})"
        yield from _SampleReader(tree, threads, ids, name if n else MAIN, name).read(sample)
    yield from threads.settle()
    yield from _log_outcomes(log)


def _log_outcomes(log: dict[str, Json]) -> Iterator[Event]:
    if as_str(log.get("status")):
        yield Outcome("status", as_str(log["status"]))
    for score in as_dicts(get_path(log, "results", "scores")):
        for name, metric in as_dict(score.get("metrics")).items():
            yield Outcome(
                f"{as_str(score.get('name'))} {name}".strip(), value_text(as_dict(metric).get("value", metric))
            )
