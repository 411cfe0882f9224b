"""Records in which Claude Code writes down its requests: what each says, and which answer answers which."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from ctxtui.core import canonical
from ctxtui.core.session import MAIN, CallSeen, Event, Happened, ThreadSeen
from ctxtui.transcripts.formats.claude_code.answers import Sent
from ctxtui.transcripts.formats.claude_code.records import ClaudeRecord
from ctxtui.transcripts.formats.claude_code.session_info import named_window
from ctxtui.transcripts.formats.claude_code.state import ClaudeState
from ctxtui.transcripts.formats.claude_code.threads import ClaudeThread
from ctxtui.transcripts.joined import UNANSWERED, UNANSWERED_LABEL, aside
from ctxtui.transcripts.kit.records import FoundObject
from ctxtui.transcripts.kit.timestamps import seconds
from ctxtui.transcripts.reader import NeedsContexts

if TYPE_CHECKING:
    from ctxtui.transcripts.formats.claude_code.request_log.rebuilt import ClaudeRequest


def request(state: ClaudeState, record: ClaudeRecord, found: FoundObject, agent: str) -> list[Event]:
    """A record of a request, or of what requests are made of. One that is followed by another was not answered."""
    if not state.contexts:
        raise NeedsContexts("records of requests")
    requests = state.requests(agent)
    before = requests.last
    made, notes = requests.take(found)
    events: list[Event] = [*notes]
    if made is not None and before is not None and not before.answered:
        events += _unanswered(state, before, made, agent)
    return events


def _unanswered(state: ClaudeState, before: ClaudeRequest, after: ClaudeRequest, agent: str) -> list[Event]:
    """What is told of the request `before`, which the request `after` follows: it has a thread of its own, so that no
    figure of the conversation takes it for a call that was answered."""
    owner = state.threads.known(agent)
    thread = owner.id if owner else agent or MAIN
    words = "no answer to a request is on record"
    if after.last is before.last and after.last is not None:
        words += "; it was sent again"
    events: list[Event] = [Happened(UNANSWERED, words, thread, before.at, owner.call if owner else "")]
    rebuilt, notes = state.requests(agent).rebuild(before)
    events += notes
    if rebuilt is None:
        return events
    call = replace(rebuilt, thread=aside(thread), error=words)
    return [*events, ThreadSeen(aside(thread), UNANSWERED_LABEL, thread), CallSeen(call)]


def meter(state: ClaudeState, record: ClaudeRecord, found: FoundObject) -> list[Event]:
    """A record of what the session has used so far."""
    if not state.contexts:
        raise NeedsContexts("what the client counts beside its calls")
    value = canonical.loads(found.raw)
    report = value.get("modelUsage") if isinstance(value, dict) else None
    place = (found.start, found.end)
    state.about.window(max(map(named_window, report), default=0) if isinstance(report, dict) else 0)
    known = state.side.meter(report, seconds(state.clock), found.line, place, state.answers.calls)
    (state.silent if known else state.other)[record.type or ""] += 1
    return []


def answered(state: ClaudeState, record: ClaudeRecord, thread: ClaudeThread, agent: str) -> tuple[Sent, list[Event]]:
    """The request that the answer in `record` names, as far as the file tells of it, and what it does not tell."""
    requests = state.requests(agent) if record.request_ref else None
    named = requests.named(record.request_ref or "") if requests is not None else None
    if requests is None or named is None:
        return Sent(thread.front, thread.front_whole), []
    named.answered = True
    shape = requests.shape_of(named)
    if shape is not None:
        thread.front, thread.front_whole = shape.head, True
    if named.fresh and requests.goes_on(named):
        thread.resumed = True
    requests.answered = named
    rebuilt, notes = requests.rebuild(named)
    return Sent(thread.front, thread.front_whole, rebuilt), [*notes]
