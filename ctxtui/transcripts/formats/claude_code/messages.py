"""Handles Claude Code's records of messages, of requests, and of the usage so far.

Each record with a message becomes a point in the chain of records (`message_chain`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from ctxtui.core import canonical
from ctxtui.core.block import Item, message_place
from ctxtui.core.session import MAIN, CallSeen, Event, Happened, ThreadSeen
from ctxtui.transcripts.formats.claude_code.answers import ASSISTANT, SentRequest
from ctxtui.transcripts.formats.claude_code.message import (
    SUMMARY,
    SYNTHETIC,
    ClaudeMessage,
    UserContent,
    sent_items,
    sort_content,
)
from ctxtui.transcripts.formats.claude_code.message_chain import (
    CLIENT,
    RESULT,
    SAID,
    Anchor,
    Point,
    adds_nothing,
    after_compaction,
    append_items,
    build_context,
)
from ctxtui.transcripts.formats.claude_code.records import ClaudeRecord, records_requests
from ctxtui.transcripts.formats.claude_code.session_info import window_from_name
from ctxtui.transcripts.formats.claude_code.state import ClaudeState
from ctxtui.transcripts.formats.claude_code.threads import ClaudeThread
from ctxtui.transcripts.joined import UNANSWERED, UNANSWERED_LABEL, unanswered_thread
from ctxtui.transcripts.kit.fields import parse_timestamp, replace_surrogates
from ctxtui.transcripts.kit.records import RawRecord
from ctxtui.transcripts.reader import NeedsContexts
from ctxtui.wire.usage import other_passes, pass_id

if TYPE_CHECKING:
    from ctxtui.transcripts.formats.claude_code.request_log.rebuilt import ClaudeRequest


def handle_message(
    state: ClaudeState, record: ClaudeRecord, message: ClaudeMessage, source: RawRecord, agent: str
) -> list[Event]:
    """Handle a record with a message, written by the subagent `agent` ("": the main agent)."""
    thread, events = state.thread(record, agent)
    if state.contexts and records_requests(record.version):
        state.requests(agent).store.record(record, message, sent_items(record, message))
    if message.role == "assistant" and message.model != SYNTHETIC:
        return events + _handle_answer(state, record, message, source, thread, agent)
    events = state.emit_pending() + events
    if message.role == "assistant":
        return events + _handle_synthetic(state, record, message, thread)
    return events + _handle_user(state, record, message, thread, agent)


def _handle_answer(
    state: ClaudeState,
    record: ClaudeRecord,
    message: ClaudeMessage,
    source: RawRecord,
    thread: ClaudeThread,
    agent: str,
) -> list[Event]:
    events: list[Event] = []
    answers = state.answers
    id_, answer = answers.find(message, record)
    if state.answering is not None and (state.answering[0] is not answer or state.answering[1] is not thread):
        events = state.emit_pending()
    parent_point = state.threads.points.get(str(record.parent_uuid))
    if answer is None:
        parent = state.threads.parent(record, thread, starts=False)
        request, notes = find_request(state, record, thread, agent)
        events += notes
        answer = answers.begin(id_, thread, parent, message, record, source, request)
    parent_point = parent_point if parent_point is not None and parent_point.anchor is answer else None
    time = parse_timestamp(record.timestamp)
    point = Point(answer, parent_point, at=time, root=parent_point.root if parent_point else None)
    thread.tip = state.register(record, point)
    if answers.calls[id_].thread != thread.id:
        # An answer of another thread, copied into this one's history.
        return events + state.tip_events(thread)
    model, usage = answers.extend(answer, message, record, time, source.end)
    if state.contexts:
        state.side.add_call(id_, model, usage, is_own_file=not agent)
        for number, further in enumerate(other_passes(message.report.extra), 1):
            state.side.add_call(pass_id(id_, number), further.model or model, further.usage, is_own_file=not agent)
    for part in message.parts:
        if part.makes:
            state.threads.tasks.add_call(thread.id, part.block)
    state.answering = (answer, thread)
    # The call is emitted after all its records, unless the context continues before that.
    return events if adds_nothing(point) else events + state.emit_pending()


def _handle_synthetic(
    state: ClaudeState, record: ClaudeRecord, message: ClaudeMessage, thread: ClaudeThread
) -> list[Event]:
    parent = state.threads.parent(record, thread, starts=False)
    if not record.is_api_error_message:
        items = [Item(part.block, ASSISTANT) for part in message.parts]
        return state.move(thread, state.add(record, parent, SAID, items))
    # The client shows an API error as an answer, but does not send it.
    text = " ".join(str(part.block.member("text") or "") for part in message.parts if part.block.kind == "text")
    state.add(record, parent, CLIENT)
    return [Happened("api error", replace_surrogates(text), thread.id, parse_timestamp(record.timestamp), thread.call)]


def _handle_user(
    state: ClaudeState, record: ClaudeRecord, message: ClaudeMessage, thread: ClaudeThread, agent: str
) -> list[Event]:
    content = sort_content(record, message)
    events: list[Event] = []
    owner, loose = _add_results(state, record, content, message.role, events)
    items = [*loose, *content.items]
    if owner is not None and state.threads.points.get(str(record.parent_uuid)) is None:
        parent = Point(owner)
    else:
        parent = state.threads.parent(record, thread, starts=bool(content.items))
    if record.is_compact_summary and not is_after_compaction(parent.anchor):
        parent = Point(after_compaction(None))
    marks = {item.place.mark for item in items}
    kind = SAID if marks & {"", SUMMARY} else RESULT if content.results else CLIENT
    point = add_kept(state, record, state.add(record, parent, kind, items))
    return [*events, *state.move(thread, point), *_note_input(state, record, content, thread, agent)]


def is_after_compaction(anchor: Anchor) -> bool:
    """Whether a context begins at `anchor` with a compaction, and no call has continued from it."""
    return anchor.began == "compaction" and not anchor.used


def add_kept(state: ClaudeState, record: ClaudeRecord, point: Point) -> Point:
    """Return the point after `record`, followed by the messages that a compaction kept, if any."""
    kept_items = state.kept_messages.pop(record.uuid or "", None)
    if not kept_items:
        return point
    old = point.anchor
    head = append_items(state.tree, build_context(state.tree, point), kept_items)
    anchor = Anchor(head, old.began, old.tokens_before, trigger=old.trigger, front=old.front)
    return state.register(record, Point(anchor, kind=point.kind, order=point.order, at=point.at))


def _add_results(
    state: ClaudeState, record: ClaudeRecord, content: UserContent, role: str, events: list[Event]
) -> tuple[Anchor | None, list[Item]]:
    """Add the results in a record to the answers that made their calls.

    Returns an answer that made one of the calls (None: there is none), and the results that stay at the record's
    position: of unknown calls, and second ones of a call.
    """
    owner, loose = None, []
    for part in content.results:
        made_by, settled = state.answers.add_result(part, parse_timestamp(record.timestamp), role)
        owner = owner or made_by
        if not settled:
            loose.append(Item(part.block, message_place(role)))
        if state.threads.tasks.spawns(part.answers) and _names_agent(record):
            agent = state.threads.tasks.add_result(part.answers, record.json("toolUseResult"))
            events += state.threads.label_spawned(agent) if agent else []
    return owner, loose


def _names_agent(record: ClaudeRecord) -> bool:
    return record.loose is not None or b'"agentId"' in bytes(record.tool_use_result)


def _note_input(
    state: ClaudeState, record: ClaudeRecord, content: UserContent, thread: ClaudeThread, agent: str
) -> list[Event]:
    events: list[Event] = []
    if content.exits:
        thread.resumed = True
    if content.interrupted:
        time = parse_timestamp(record.timestamp)
        events.append(
            Happened("interrupt", replace_surrogates(content.interrupted.strip("[]")), thread.id, time, thread.call)
        )
    if thread.id == MAIN:
        state.about.use_prompt_as_title(content.typed_text)
    elif content.typed_text and not thread.label:
        events += state.threads.label(thread, agent or record.agent_id or "", content.typed_text)
    return events


def handle_request(state: ClaudeState, source: RawRecord, agent: str) -> list[Event]:
    """Handle a record of a request; the one before it is emitted if it has no answer."""
    if not state.contexts:
        raise NeedsContexts("records of requests")
    requests = state.requests(agent)
    before = requests.last
    request, notes = requests.add_record(source)
    events: list[Event] = [*notes]
    if request is not None and before is not None and not before.answered:
        events += _emit_unanswered(state, before, request, agent)
    return events


def _emit_unanswered(
    state: ClaudeState, first_request: ClaudeRequest, next_request: ClaudeRequest, agent: str
) -> list[Event]:
    """Emit a request without an answer in a thread that no figure counts."""
    owner = state.threads.find_existing(agent)
    thread = owner.id if owner else agent or MAIN
    text = "a request has no recorded answer"
    if next_request.last is first_request.last and next_request.last is not None:
        text += "; it was sent again"
    events: list[Event] = [Happened(UNANSWERED, text, thread, first_request.at, owner.call if owner else "")]
    rebuilt, notes = state.requests(agent).rebuild(first_request)
    events += notes
    if rebuilt is None:
        return events
    call = replace(rebuilt, thread=unanswered_thread(thread), error=text)
    return [*events, ThreadSeen(unanswered_thread(thread), UNANSWERED_LABEL, thread), CallSeen(call)]


def handle_meter(state: ClaudeState, source: RawRecord) -> list[Event]:
    """Handle a record of the session's usage so far."""
    if not state.contexts:
        raise NeedsContexts("tokens that the client counted outside of its calls")
    value = canonical.loads(source.raw)
    report = value.get("modelUsage") if isinstance(value, dict) else None
    place = (source.start, source.end)
    state.about.set_window(max(map(window_from_name, report), default=0) if isinstance(report, dict) else 0)
    state.side.read_meter(report, parse_timestamp(state.clock), source.line, place, state.answers.calls)
    return []


def find_request(
    state: ClaudeState, record: ClaudeRecord, thread: ClaudeThread, agent: str
) -> tuple[SentRequest, list[Event]]:
    """Find the recorded part of an answer's request; with notes on what is missing."""
    requests = state.requests(agent) if record.request_ref else None
    named = requests.find(record.request_ref or "") if requests is not None else None
    if requests is None or named is None:
        return SentRequest(thread.front, thread.front_whole), []
    named.answered = True
    shape = requests.shape_of(named)
    if shape is not None:
        thread.front, thread.front_whole = shape.head, True
    if named.fresh and requests.continues_answered(named):
        thread.resumed = True
    requests.answered = named
    rebuilt, notes = requests.rebuild(named)
    return SentRequest(thread.front, thread.front_whole, rebuilt), [*notes]
