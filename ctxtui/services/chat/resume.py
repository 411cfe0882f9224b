"""Finds chats that ended during a turn, and restores them.

What happened after the last recorded call is stored as events *in flight*, which are replayed here.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from ctxtui.agent.conversation import Conversation, resume, skeleton_for
from ctxtui.agent.events import ToolResult
from ctxtui.agent.replay import BROKEN_OFF, OPENED, Replay
from ctxtui.core.call import Call, Fidelity
from ctxtui.core.canonical import Json
from ctxtui.core.errors import CtxtuiError
from ctxtui.core.session import MAIN, CallSeen, Session
from ctxtui.core.tree import ROOT
from ctxtui.services.chat.continue_from import CHAT
from ctxtui.services.config.paths import database
from ctxtui.services.config.settings import Settings
from ctxtui.store.leases import host_of
from ctxtui.store.sessions.in_flight import SLOTS, InFlightEvent, abandoned_events
from ctxtui.store.store import Store
from ctxtui.store.writer import InFlight, StoredCall, TakenOver, Work
from ctxtui.wire.speech import Result

STOPPED_RESULT: Final = "ctxtui ended before this was done."


class Recovered(Struct, frozen=True, kw_only=True):
    """The recovered state of a chat.

    - `partial`: the call with an incomplete answer; None: none. `head`: the context after it.
    - `stopped`: error results for calls that got none.
    - `queue`, `draft`: waiting messages, and the text in the prompt.
    - `left`: token of the host that left the events; None: no host left any.

    If several hosts left events, the last one to write continues, from the context `begun`. The events of the `others`,
    and of sub-agents (`agents`), become a call each.
    """

    partial: Call | None = None
    head: int = 0
    stopped: tuple[ToolResult, ...] = ()
    queue: tuple[str, ...] = ()
    draft: str = ""
    replayed: int = 0
    left: str | None = None
    begun: int = 0
    others: tuple[tuple[str, Call], ...] = ()
    agents: tuple[tuple[str, Call], ...] = ()

    def __bool__(self) -> bool:
        return bool(self.partial or self.stopped or self.queue or self.draft or self.replayed or self.agents)


def recover(
    conversation: Conversation, events: Sequence[InFlightEvent], provider: str, used_ids: frozenset[str], own_id: str
) -> Recovered:
    """Replay `events` into `conversation`, then give each open tool call an error result.

    `used_ids` are ids in use; `own_id` names the partial call if the provider did not.
    """
    replay = Replay(conversation, provider, used_ids, own_id)
    for event in events:
        replay.replay(event)
    partial = replay.settle()
    head = conversation.head
    unanswered = conversation.open_calls()
    conversation.add_results([Result(call.id, call.name, STOPPED_RESULT, True) for call in unanswered])
    stopped = tuple(ToolResult(call.id, STOPPED_RESULT, is_error=True) for call in unanswered)
    return Recovered(
        partial=partial, head=head, stopped=stopped, queue=replay.queue, draft=replay.draft, replayed=replay.replayed
    )


def restore_conversation(
    session: Session, pending: Sequence[InFlightEvent], dialect: str, params: Mapping[str, Json], provider: str
) -> tuple[Conversation, Recovered]:
    """Restore the conversation of the stored `session` in `dialect`.

    `pending` are the events of earlier hosts.
    """
    tip, call_count = session.threads[MAIN].tip, len(session.calls)
    by_hosts = group_by_host([event for event in pending if event.thread == MAIN])
    # Ignore hosts that left only an empty queue or draft.
    *earlier_hosts, last_events = (
        [events_of_host for events_of_host in by_hosts if any(map(_has_content, events_of_host))]
        or by_hosts[-1:]
        or [[]]
    )
    calls: list[tuple[str, Call]] = []
    queue: tuple[str, ...] = ()
    drafts: list[str] = []
    for events_of_host in earlier_hosts:
        conversation = resume(session.tree, _context_at_first(session, events_of_host), dialect, params)
        own_id = f"{session.about.id}.{call_count + len(calls) + 1}"
        recovered = recover(conversation, events_of_host, provider, frozenset(session.calls), own_id)
        calls.append(
            (
                events_of_host[0].host,
                recovered.partial or _unanswered(conversation, recovered.head, events_of_host[-1].at, provider, own_id),
            )
        )
        queue, drafts = (*queue, *recovered.queue), [*drafts, recovered.draft]
    begun = _context_at_first(session, last_events) if earlier_hosts else tip
    conversation = resume(session.tree, begun, dialect, params)
    used_ids = frozenset(session.calls) | {call.id for _, call in calls}
    recovered = recover(
        conversation, last_events, provider, used_ids, f"{session.about.id}.{call_count + len(calls) + 1}"
    )
    host_token = last_events[0].host if last_events else None
    draft = next(filter(None, (recovered.draft, *drafts)), "")
    agents = _recover_agents(session, [event for event in pending if event.thread != MAIN], dialect, params, provider)
    recovered = replace(recovered, queue=(*queue, *recovered.queue), draft=draft, left=host_token, begun=begun)
    return conversation, replace(recovered, others=tuple(calls), agents=agents)


def _recover_agents(
    session: Session, pending: Sequence[InFlightEvent], dialect: str, params: Mapping[str, Json], provider: str
) -> tuple[tuple[str, Call], ...]:
    """Make a call of each sub-agent's events in flight; sub-agents are not continued."""
    calls: list[tuple[str, Call]] = []
    for thread in dict.fromkeys(event.thread for event in pending):
        for host_events in group_by_host([event for event in pending if event.thread == thread]):
            begun = session.threads[thread].tip if thread in session.threads else ROOT
            conversation = resume(session.tree, begun, dialect, params)
            own_id = f"{session.about.id}.{thread}.{len(session.order.get(thread, ())) + 1}"
            recovered = recover(conversation, host_events, provider, frozenset(session.calls), own_id)
            call = recovered.partial or _unanswered(conversation, recovered.head, host_events[-1].at, provider, own_id)
            # The system prompt and tools may have been in flight, too.
            skeleton = skeleton_for(dialect, params, session.tree.items(call.raw_head))
            calls.append((host_events[0].host, replace(call, thread=thread, skeleton=skeleton)))
    return tuple(calls)


def _has_content(event: InFlightEvent) -> bool:
    return event.kind not in SLOTS or event.data not in ("[]", "")


def group_by_host(pending: Sequence[InFlightEvent]) -> list[list[InFlightEvent]]:
    """Group events by host, the last one to write at the end."""
    by_name: dict[str, list[InFlightEvent]] = {}
    last = {event.host: index for index, event in enumerate(pending)}
    for event in pending:
        by_name.setdefault(event.host, []).append(event)
    return [by_name[host] for host in sorted(by_name, key=lambda host: last[host])]


def _context_at_first(session: Session, host_events: Sequence[InFlightEvent]) -> int:
    """The context at a host's first event: after the call that the event names."""
    call, tree = session.calls.get(host_events[0].call), session.tree
    if call is None:
        first = next(iter(session.calls.values()), None)
        path = tree.path(first.raw_head if first is not None else session.threads[MAIN].tip)
        prefix = [node for node in path if tree[node].place.section != "messages"]
        return prefix[-1] if prefix else ROOT
    # The partial answer of a failed call is not part of the context.
    failed = call.error and not call.error.startswith("interrupted")
    return call.raw_head if failed else call.response_head or call.raw_head


def _unanswered(conversation: Conversation, head: int, at: float, provider: str, own_id: str) -> Call:
    return Call(
        own_id, MAIN, head, head, head, provider=provider, model=conversation.model, started=at, ended=at,
        fidelity=Fidelity.WIRE, error=BROKEN_OFF, skeleton=conversation.skeleton,
    )  # fmt: skip


def record_recovered(
    recovered: Recovered, put: Callable[[Work], object], clock: Callable[[], float]
) -> tuple[CallSeen, ...]:
    """Write the recovered state; return the calls to add to the session."""
    for host, call in recovered.agents:
        put(StoredCall(call, call.response_head, host))
    for host, call in recovered.others:
        put(StoredCall(call, recovered.begun, host))
    if recovered.left is not None:
        put(TakenOver(recovered.left))
    if recovered.others:
        put(InFlight("", clock(), "queue", json.dumps(recovered.queue)))
        put(InFlight("", clock(), "draft", recovered.draft))
    if recovered.partial is not None:
        put(StoredCall(recovered.partial, recovered.head))
    calls = [call for _, call in (*recovered.agents, *recovered.others)]
    calls += [recovered.partial] if recovered.partial is not None else []
    return tuple(map(CallSeen, calls))


def dialect_of(events: Sequence[InFlightEvent], last: Call | None) -> str:
    """The dialect of a chat: of its last call, or as it was opened; "" if unknown."""
    if last is not None and last.skeleton is not None:
        return last.skeleton.dialect
    opened = next((event.data for event in events if event.kind == OPENED), "{}")
    return str(json.loads(opened).get("dialect", ""))


_TURN_EVENTS: Final = frozenset({"said", "context", "sent", "heard", "results"})


def is_unfinished(id_: str, settings: Settings) -> bool:
    """Whether the host of the stored chat `id_` left parts of a turn.

    False if the database cannot be read.
    """
    try:
        return any(event.kind in _TURN_EVENTS for event in abandoned_events(database(settings.data_dir), id_))
    except CtxtuiError:
        return False


def host_place(id_: str, settings: Settings) -> str:
    """The process that hosts the stored session `id_` now, and since when; "" if none is known."""
    try:
        host = host_of(database(settings.data_dir), id_)
    except CtxtuiError:
        return ""  # continuing the session will open the database and report its error
    return host.description if host is not None else ""


def unfinished_here(cwd: Path, settings: Settings) -> str:
    """The id of the newest chat in `cwd` if it ended during a turn, else ""."""
    path = database(settings.data_dir)
    if not path.exists():
        return ""
    try:
        with Store.open(path, readonly=True) as store:
            chats = [row for row in store.sessions() if row.client == CHAT and row.cwd == str(cwd)]
    except CtxtuiError:
        return ""
    newest = max(chats, key=lambda row: row.ended or row.imported, default=None)
    return newest.id if newest is not None and is_unfinished(newest.id, settings) else ""
