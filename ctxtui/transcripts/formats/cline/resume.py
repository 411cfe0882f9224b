"""Writes a Cline session that the client resumes, with an edited context.

The client finds a session by its details, ``ID.json``, which name the file of its messages (tried with 3.0.65). It
sends all messages of that file, so a compacted session is written as its compacted context, without
``ID.compaction.json``. The client's token meter uses the usage of the last answer, its cost the sum of all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from msgspec import field

from ctxtui.core import block as blocks
from ctxtui.core import canonical
from ctxtui.core.block import Block, Item
from ctxtui.core.call import MAKER
from ctxtui.core.errors import CtxtuiError
from ctxtui.core.json_values import as_dict, as_str
from ctxtui.transcripts.formats.cline.session import (
    ESTIMATED_BY,
    MAX_RESULT_CHARS,
    SUMMARY,
    compacted_count,
    content_parts,
    convert_parts,
    is_sent_again,
)
from ctxtui.transcripts.kit.fields import COPIED, as_dicts
from ctxtui.transcripts.kit.messages import RESULT
from ctxtui.transcripts.kit.readers import parse_json
from ctxtui.transcripts.kit.resume import (
    ResumedFile,
    ResumeEntry,
    ResumeOrder,
    apply_edits,
    count_losses,
    find_blocks,
    find_end,
    format_time,
    is_answer,
    name_losses,
    new_blocks,
    outdated_reports,
    read_block_text,
)

_SUMMARY_TITLE: Final = "Context summary:\n\n"
"""Begins the text of a compaction's summary."""
_CUT: Final = f"a changed result of more than {MAX_RESULT_CHARS:,} characters: the client cuts its middle"
_SUMS: Final = ("totalCost", "aggregatedAgentsCost", "usage", "aggregateUsage")
"""Members of the details' metadata that the client computes from the messages if they are missing."""


def resume(order: ResumeOrder) -> ResumedFile:
    """Write the messages and the details of a session with the requested context.

    Raises `CtxtuiError` if the source's details are missing.
    """
    value, tail = parse_json(order.source)
    session = as_dict(value)
    id_ = f"{round(order.now * 1000)}_{next(order.ids).replace('-', '')[:5]}"
    details = canonical.dumps(_make_details(order, id_)) + b"\n"
    entries = [_make_entry(message) for message in _recorded_context(session, order)]
    edits = apply_edits(order, entries, _find_blocks(order, entries), cut=True)
    lost = [f"line {tail.line}: {tail.reason}"] if tail is not None else []
    lost += [*edits.lost, *name_losses(new_blocks(entries, edits.appended), ("tool_use", "image"))]
    lost += [_CUT for entry in entries for block in entry.changes.values() if block and _is_cut(block)]
    answers = [n for n, entry in enumerate(entries) if entry.is_model_answer and not entry.removed]
    for n, size in outdated_reports(entries, answers, order):
        entries[n].metrics = {} if size is None else _make_metrics(size, order.answer_tokens)
    written: list[dict[str, Any]] = []
    for entry in entries:
        written += _make_messages(entry.before, entries, entry, order)
        written += [] if entry.removed else [entry.write()]
    written += _make_messages(edits.appended, entries, entries[-1] if entries else None, order)
    session |= {"sessionId": id_, "origin": {**as_dict(session.get("origin")), "sessionId": id_}, "messages": written}
    session["updated_at"] = format_time(order.now)
    name = f"{id_}.messages.json"
    return ResumedFile(
        canonical.dumps(session) + b"\n", count_losses(lost), id_, f"{id_}/{name}", beside={f"{id_}.json": details}
    )


class _ClineEntry(ResumeEntry):
    """A message, the indexes of its parts in requests, its new usage (None: unchanged)."""

    value: dict[str, Any]
    sent: list[int] = field(default_factory=list)
    metrics: dict[str, Any] | None = None

    @property
    def metadata(self) -> dict[str, Any]:
        return as_dict(self.value.get("metadata"))

    @property
    def is_model_answer(self) -> bool:
        """Whether it is an answer of the model, and not only displayed."""
        return self.value.get("role") == "assistant" and bool(self.digests)

    def write(self) -> dict[str, Any]:
        message = dict(self.value)
        if self.changes:
            changes = {self.sent[n]: block for n, block in self.changes.items()}
            parts = [(changes.get(n, part), part) for n, part in enumerate(content_parts(self.value))]
            message["content"] = [
                _to_cline_part(new, part) if isinstance(new, Block) else new for new, part in parts if new is not None
            ]
            if self.metadata.get("kind") == SUMMARY:
                # The client's next compaction begins with it.
                text = "".join(as_str(part.get("text")) for part in content_parts(message))
                message["metadata"] = {**self.metadata, "summary": text.removeprefix(_SUMMARY_TITLE)}
        if self.metrics is not None:
            message |= {"metrics": self.metrics}
        if self.is_model_answer:
            estimated = {ESTIMATED_BY: MAKER} if self.metrics else {}
            message["metadata"] = {**self.metadata, COPIED: MAKER, **estimated}
        return message


def _recorded_context(session: dict[str, Any], order: ResumeOrder) -> list[dict[str, Any]]:
    """List the messages of the context of `order`: after a compaction, the compacted first."""
    sent = as_dicts(session.get("messages"))
    compaction = as_dict(_read_beside(order, "compaction.json"))
    is_compacted = any(item.place.mark == "summary" for item in order.path)
    return as_dicts(compaction.get("messages")) + sent[compacted_count(sent, compaction) :] if is_compacted else sent


def _read_beside(order: ResumeOrder, end: str) -> Any:
    data = order.beside.get(f"{order.session}.{end}")
    return parse_json(data)[0] if data is not None else None


def _make_details(order: ResumeOrder, id_: str) -> dict[str, Any]:
    """Make the details of the new session `id_` from those of the recorded one."""
    details = as_dict(_read_beside(order, "json"))
    path = as_str(details.get("messages_path"))
    if not order.session or order.session not in path:
        raise CtxtuiError(
            "the session's details are missing, by which Cline finds it",
            place=f"{order.session or 'ID'}.json",
            way_out="put that file into the folder of the messages",
        )
    metadata = {key: member for key, member in as_dict(details.get("metadata")).items() if key not in _SUMS}
    metadata["title"] = f"{as_str(metadata.get('title')) or 'session'} (curated)"
    details = {key: member for key, member in details.items() if key != "compaction_path"}
    path = path.replace(order.session, id_)
    # The client takes an unfinished session to have crashed.
    return {**details, "session_id": id_, "status": "completed", "metadata": metadata, "messages_path": path}


def _make_entry(message: dict[str, Any]) -> _ClineEntry:
    # What is only displayed is never sent.
    is_shown = as_dict(message.get("metadata")).get("displayOnly") is True
    parts = [] if is_shown else list(enumerate(convert_parts(message)))
    sent = [(n, part) for n, part in parts if is_sent_again(message, part)]
    results = {n: as_str(part.get("tool_use_id")) for n, (_, part) in enumerate(sent) if part.get("type") == RESULT}
    return _ClineEntry(
        value=message,
        digests=[blocks.from_part(part).digest for _, part in sent],
        answers=results,
        sent=[n for n, _ in sent],
    )


def _find_blocks(order: ResumeOrder, entries: Sequence[_ClineEntry]) -> dict[int, tuple[int, int]]:
    """Find the blocks of the path; thinking that no request holds is ignored to find its end."""
    digests = {digest for entry in entries for digest in entry.digests}
    path = [item for item in order.path if item.place.section == "messages"]
    path = [item for item in path if item.block.kind != "thinking" or item.block.digest in digests]
    return find_blocks(order.path, entries[: find_end(path, entries)])


def _make_messages(
    groups: Sequence[Sequence[Item]], entries: Sequence[_ClineEntry], near: _ClineEntry | None, order: ResumeOrder
) -> Iterator[dict[str, Any]]:
    """Make messages from inserted items, at the time of the message `near`."""
    model = next((entry.value["modelInfo"] for entry in entries if entry.value.get("modelInfo")), None)
    time = near.value.get("ts") if near is not None else round(order.now * 1000)
    for group in groups:
        content = [_to_cline_part(item.block, {}) for item in group]
        message = {"id": next(order.ids), "role": "assistant" if is_answer(group[0]) else "user", "content": content}
        more = {"modelInfo": model, "metadata": {COPIED: MAKER}} if model and is_answer(group[0]) else {}
        yield {**message, "ts": time, **more}


def _make_metrics(input_: int, output: int) -> dict[str, Any]:
    return {"inputTokens": input_, "outputTokens": output, "cacheReadTokens": 0, "cacheWriteTokens": 0, "cost": 0}


def _is_cut(block: Block) -> bool:
    return block.kind == RESULT and len(read_block_text(block)) > MAX_RESULT_CHARS


def _to_cline_part(block: Block, recorded: dict[str, Any]) -> dict[str, Any]:
    """Convert a block to Cline's spelling; a result keeps the tool's name of `recorded`."""
    value = as_dict(block.value())
    source = as_dict(value.get("source"))
    match value.get("type"):
        case "tool_use":
            return value
        case "tool_result":
            content = value.get("content")
            if isinstance(content, list):
                content = [_to_cline_part(blocks.from_part(part), {}) for part in content]
            name = {"name": recorded["name"]} if "name" in recorded else {}
            return {**value, **name, "content": content}
        case "image" if "data" in source:
            return {"type": "image", "data": source["data"], "mediaType": source.get("media_type")}
    return {"type": "text", "text": read_block_text(block)}
