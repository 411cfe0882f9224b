"""A chat that ended in the middle: found, so that it can be offered, and put together again.

Its calls are in the record; what happened after the last of them was in flight.
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
from ctxtui.store.writer import CallEnded, InFlight, TakenOver, Work
from ctxtui.wire.speech import Result

ENDED: Final = "ctxtui ended before this was done."


class Recovered(Struct, frozen=True, kw_only=True):
    """What was found: the `partial` call whose answer broke off (None: there was none) and the context `head` just
    after it, the `stopped` results of calls that never got one, the messages that waited, the draft in the prompt, how
    many events were `replayed`, and the token of the host that `left` them (None: nobody did).

    Where several hosts left something (none could say that it is there), the one that wrote last goes on, from the
    context `begun`; what the `others` said and heard is in a call of each, which begins where they did. So is what each
    of the sub-agents (`agents`) that ended with their host had said and heard.
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
    conversation: Conversation, events: Sequence[InFlightEvent], provider: str, known: frozenset[str], own_id: str
) -> Recovered:
    """Play `events` into `conversation`, which stands at the end of what the calls hold; afterwards its context is
    legal. `known` are the ids of the session's calls, `own_id` names the partial one where the provider did not."""
    replay = Replay(conversation, provider, known, own_id)
    for event in events:
        replay.replay(event)
    partial = replay.settle()
    head = conversation.head
    lost = conversation.open_calls()
    conversation.add_results([Result(call.id, call.name, ENDED, True) for call in lost])
    stopped = tuple(ToolResult(call.id, ENDED, is_error=True) for call in lost)
    return Recovered(
        partial=partial,
        head=head,
        stopped=stopped,
        queue=replay.queue,
        draft=replay.draft,
        replayed=replay.replayed,
    )


def take_up(
    session: Session, pending: Sequence[InFlightEvent], dialect: str, params: Mapping[str, Json], provider: str
) -> tuple[Conversation, Recovered]:
    """The conversation of the stored `session` as it goes on, in `dialect`, with what hosts that are gone left
    `pending`."""
    tip, known = session.threads[MAIN].tip, len(session.calls)
    lines = by_host([event for event in pending if event.thread == MAIN])
    # A host of which an empty queue or draft is left alone left nothing.
    *others, last = [line for line in lines if any(map(_says, line))] or lines[-1:] or [[]]
    calls: list[tuple[str, Call]] = []
    queue: tuple[str, ...] = ()
    drafts: list[str] = []
    for line in others:
        talk = resume(session.tree, _begun(session, line), dialect, params)
        own_id = f"{session.about.id}.{known + len(calls) + 1}"
        found = recover(talk, line, provider, frozenset(session.calls), own_id)
        calls.append((line[0].host, found.partial or _unanswered(talk, found.head, line[-1].at, provider, own_id)))
        queue, drafts = (*queue, *found.queue), [*drafts, found.draft]
    begun = _begun(session, last) if others else tip
    talk = resume(session.tree, begun, dialect, params)
    seen = frozenset(session.calls) | {call.id for _, call in calls}
    found = recover(talk, last, provider, seen, f"{session.about.id}.{known + len(calls) + 1}")
    left = last[0].host if last else None
    draft = next(filter(None, (found.draft, *drafts)), "")
    agents = _agents_left(session, [event for event in pending if event.thread != MAIN], dialect, params, provider)
    found = replace(found, queue=(*queue, *found.queue), draft=draft, left=left, begun=begun)
    return talk, replace(found, others=tuple(calls), agents=agents)


def _agents_left(
    session: Session, pending: Sequence[InFlightEvent], dialect: str, params: Mapping[str, Json], provider: str
) -> tuple[tuple[str, Call], ...]:
    """What sub-agents had in flight when their hosts ended, a call of each: nobody goes on with them."""
    calls: list[tuple[str, Call]] = []
    for thread in dict.fromkeys(event.thread for event in pending):
        for line in by_host([event for event in pending if event.thread == thread]):
            begun = session.threads[thread].tip if thread in session.threads else ROOT
            talk = resume(session.tree, begun, dialect, params)
            own_id = f"{session.about.id}.{thread}.{len(session.order.get(thread, ())) + 1}"
            found = recover(talk, line, provider, frozenset(session.calls), own_id)
            call = found.partial or _unanswered(talk, found.head, line[-1].at, provider, own_id)
            # Its system prompt and tools may have been in flight, too.
            spelled = skeleton_for(dialect, params, session.tree.items(call.raw_head))
            calls.append((line[0].host, replace(call, thread=thread, skeleton=spelled)))
    return tuple(calls)


def _says(event: InFlightEvent) -> bool:
    return event.kind not in SLOTS or event.data not in ("[]", "")


def by_host(pending: Sequence[InFlightEvent]) -> list[list[InFlightEvent]]:
    """What each host left, the one that wrote last at the end."""
    found: dict[str, list[InFlightEvent]] = {}
    last = {event.host: at for at, event in enumerate(pending)}
    for event in pending:
        found.setdefault(event.host, []).append(event)
    return [found[host] for host in sorted(found, key=lambda host: last[host])]


def _begun(session: Session, line: Sequence[InFlightEvent]) -> int:
    """The context that a host was at when the first of its `line` happened: after the call which that names."""
    call, tree = session.calls.get(line[0].call), session.tree
    if call is None:
        first = next(iter(session.calls.values()), None)
        path = tree.path(first.raw_head if first is not None else session.threads[MAIN].tip)
        front = [node for node in path if tree[node].place.section != "messages"]
        return front[-1] if front else ROOT
    # What came of a call that failed stands beside the context, which stays where it was.
    failed = call.error and not call.error.startswith("interrupted")
    return call.raw_head if failed else call.response_head or call.raw_head


def _unanswered(talk: Conversation, head: int, at: float, provider: str, own_id: str) -> Call:
    return Call(
        own_id, MAIN, head, head, head, provider=provider, model=talk.model, started=at, ended=at,
        fidelity=Fidelity.WIRE, error=BROKEN_OFF, skeleton=talk.skeleton,
    )  # fmt: skip


def put_on_record(found: Recovered, put: Callable[[Work], object], clock: Callable[[], float]) -> tuple[CallSeen, ...]:
    """Hand to the writer what was recovered; the calls that the session is to take in."""
    for host, call in found.agents:
        put(CallEnded(call, call.response_head, host))
    for host, call in found.others:
        put(CallEnded(call, found.begun, host))
    if found.left is not None:
        put(TakenOver(found.left))
    if found.others:
        put(InFlight("", clock(), "queue", json.dumps(found.queue)))
        put(InFlight("", clock(), "draft", found.draft))
    if found.partial is not None:
        put(CallEnded(found.partial, found.head))
    seen = [call for _, call in (*found.agents, *found.others)]
    seen += [found.partial] if found.partial is not None else []
    return tuple(map(CallSeen, seen))


def dialect_of(events: Sequence[InFlightEvent], last: Call | None) -> str:
    """The dialect that a chat was held in: as its last call was spelled, else as it was opened; "" where unknown."""
    if last is not None and last.skeleton is not None:
        return last.skeleton.dialect
    opened = next((event.data for event in events if event.kind == OPENED), "{}")
    return str(json.loads(opened).get("dialect", ""))


_UNDER_WAY: Final = frozenset({"said", "context", "sent", "heard", "results"})


def is_unfinished(id_: str, settings: Settings) -> bool:
    """Whether the stored chat `id_` ended while a turn was under way, and nobody hosts it now; for a worker thread."""
    try:
        return any(event.kind in _UNDER_WAY for event in abandoned_events(database(settings.data_dir), id_))
    except CtxtuiError:
        return False


def hosted_by(id_: str, settings: Settings) -> str:
    """In which process the stored session `id_` is hosted now, and since when; "" for none. For a worker thread."""
    try:
        host = host_of(database(settings.data_dir), id_)
    except CtxtuiError:
        return ""  # whoever goes on with it needs the database, and says what is wrong with it
    return host.description if host is not None else ""


def unfinished_here(cwd: Path, settings: Settings) -> str:
    """The id of this folder's newest chat where that ended in the middle of a turn, else ""; for a worker thread."""
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
