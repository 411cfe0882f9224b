"""Joins a session's recorded exchanges with its transcript; each call appears once.

In this module, `wire` is the session of exchanges (from ctxtui's relay, or a client's own log of requests), and `own`
the client's transcript.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from itertools import takewhile
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from ctxtui.core import block, block_content
from ctxtui.core.block import HEADER, Block, Item
from ctxtui.core.call import BY_TRANSCRIPT, EDITS, Call, Fidelity, Skeleton, provider_id
from ctxtui.core.session import (
    MAIN,
    CallSeen,
    Described,
    Event,
    Happened,
    Session,
    Skipped,
    Thread,
    ThreadSeen,
    TipMoved,
)
from ctxtui.core.tree import ROOT, Tree
from ctxtui.core.usage import Usage, newest_quotas, subtract
from ctxtui.transcripts.kit.http_exchange.pair import replaces_answer
from ctxtui.transcripts.reader import ChangedReader, Reader
from ctxtui.wire.codec.skeleton import markers_json, read_markers

UNANSWERED: Final = "unanswered"
UNANSWERED_LABEL: Final = "requests without an answer"
_CLOCK_TOLERANCE_SECONDS: Final = 1.0
"""Both records have the times of one machine's clock."""
_MIN_ANSWER_CHARS: Final = 40
"""Minimum characters for a part of an answer to identify it: aider's chat history cuts answers at headings."""


def unanswered_thread(thread: str) -> str:
    """Name the thread that keeps the unanswered requests of `thread` out of its figures."""
    return UNANSWERED if thread == MAIN else f"{UNANSWERED} of {thread}"


def merge_exchange(own: Call, sent: Call) -> Call:
    """Merge the transcript's call `own` with its exchange `sent`.

    Contexts, times and report (or error) are the exchange's, where it has them; thread, epoch, id and position in the
    file are the transcript's.
    """
    # If the user or a replay answered instead of the model, the usage that the client recorded is not a provider's.
    report = sent if sent.usage is not None or sent.error or replaces_answer(sent.extra.get(EDITS)) else own
    timed = sent if sent.started is not None else own
    body = sent if sent.raw_head != ROOT else own
    return replace(
        own,
        raw_head=body.raw_head,
        sent_head=body.sent_head,
        response_head=body.response_head,
        provider=sent.provider or own.provider,
        model=report.model or sent.model or own.model,
        started=timed.started,
        first_byte=timed.first_byte,
        ended=timed.ended,
        fidelity=body.fidelity,
        usage=report.usage,
        stop_reason=report.stop_reason,
        error=report.error,
        skeleton=body.skeleton,
        extra={**own.extra, **sent.extra},
    )


def is_answered(call: Call) -> bool:
    return call.response_head not in (call.raw_head, call.sent_head)


def _is_failed(call: Call) -> bool:
    return bool(call.error) and call.usage is None and not is_answered(call)


class CallPairs(Struct):
    """Calls that are in both records.

    `wire` has exchanges by the id of their transcript call, `own` transcript calls by the id of their exchange.
    """

    wire: dict[str, Call] = field(default_factory=dict)
    own: dict[str, Call] = field(default_factory=dict)
    doubtful: int = 0
    """Number of unpaired transcript calls that may equal an unpaired exchange: same time, other figures."""

    def add(self, own: Call, wire: Call) -> None:
        self.wire[own.id], self.own[wire.id] = wire, own


def pair_calls(wire: Session, own: Session) -> CallPairs:
    """Pair the calls of a client's `own` transcript with those of `wire` by the provider's ids.

    If an id matches, only requests without an answer are then paired without ids. If none matches (some clients keep no
    ids), calls with the same tokens at the same time are paired, and exchanges without a report by the same answer.
    """
    pairs = CallPairs()
    by_id = {provider_id(call): call for call in reversed(wire.calls.values())}
    for call in own.calls.values():
        match = by_id.pop(provider_id(call), None)
        if match is not None:
            pairs.add(call, match)
    if pairs.wire or not wire.calls:
        _add_unanswered(pairs, wire, own)
        return pairs
    waiting = [call for call in wire.calls.values() if call.usage is not None and call.ended is not None]
    doubtful: list[Call] = []
    for call in own.calls.values():
        alike = [candidate for candidate in waiting if _is_simultaneous(call, candidate)]
        same = next((candidate for candidate in alike if _usage_figures(candidate) == _usage_figures(call)), None)
        if same is not None:
            waiting.remove(same)
            pairs.add(call, same)
        elif alike and call.usage is not None:
            doubtful.append(call)
    _add_same_answers(pairs, wire, own)
    # A doubtful call may have been paired by its answer since, or its exchange with a later call.
    pairs.doubtful = sum(
        call.id not in pairs.wire and any(_is_simultaneous(call, candidate) for candidate in waiting)
        for call in doubtful
    )
    return pairs


def _add_same_answers(pairs: CallPairs, wire: Session, own: Session) -> None:
    waiting = (call for call in wire.calls.values() if call.id not in pairs.own)
    answers_sent = [(call, _answer_text(wire, call)) for call in waiting if call.usage is None and not call.error]
    next_index = 0
    for call in own.calls.values() if answers_sent else ():
        if call.id in pairs.wire:
            continue
        text = _answer_text(own, call)
        same = next(
            (n for n in range(next_index, len(answers_sent)) if _is_same_answer(answers_sent[n][1], text)), None
        )
        if same is not None:
            pairs.add(call, answers_sent[same][0])
            next_index = same + 1


def _answer_text(session: Session, call: Call) -> str:
    items = session.tree.items(call.response_head, call.raw_head)
    return " ".join(
        " ".join(block_content.read(item.block).text for item in items if item.block.kind != HEADER).split()
    )


def _is_same_answer(sent: str, noted: str) -> bool:
    return bool(noted) and (sent == noted or (len(noted) >= _MIN_ANSWER_CHARS and noted in sent))


def _add_unanswered(pairs: CallPairs, wire: Session, own: Session) -> None:
    """Pair requests without an answer, which have no id, by time and last block.

    A call that has no error either may have been answered, so it is paired only if a single exchange fits it.
    """
    waiting = [wire_call for wire_call in wire.calls.values() if wire_call.id not in pairs.own]
    threads = {match.thread: own.calls[id_].thread for id_, match in pairs.wire.items()}
    for call in own.calls.values():
        if call.usage is not None or call.id in pairs.wire or (not call.error and is_answered(call)):
            continue
        last = own.tree[call.raw_head].block
        alike = [
            candidate
            for candidate in waiting
            if _is_simultaneous(call, candidate) and _has_same_content(last, wire.tree[candidate.raw_head].block)
        ]
        if call.error:
            matches = [candidate for candidate in alike if candidate.error][:1]
        else:
            # Kimi Code's last request with `-p` has neither answer nor error in its transcript.
            matches = [
                candidate
                for candidate in alike
                if _is_same_model(call, candidate)
                and not candidate.keeps_warm
                and threads.get(candidate.thread, call.thread) == call.thread
            ]
            # It may have been sent again after an error.
            matches = [candidate for candidate in matches if not candidate.error] or matches
        if len(matches) == 1:
            waiting.remove(matches[0])
            pairs.add(call, matches[0])


def _has_same_content(first: Block, second: Block) -> bool:
    """Whether two blocks have the same text in any spelling; results must be of the same call."""
    if first.digest == second.digest:
        return True
    if first.kind != second.kind:
        return False
    content, same = block_content.read(first), block_content.read(second)
    return bool(content.text) and (content.text, content.call_id) == (same.text, same.call_id)


def _is_simultaneous(own: Call, wire: Call) -> bool:
    began, ended = own.started or own.ended, own.ended or own.started
    if began is None or ended is None or wire.ended is None:
        return False
    return (
        began - _CLOCK_TOLERANCE_SECONDS <= wire.ended
        and (wire.started or wire.ended) <= ended + _CLOCK_TOLERANCE_SECONDS
    )


def _is_same_model(first: Call, second: Call) -> bool:
    names = sorted((first.model.partition("[")[0], second.model.partition("[")[0]), key=len)
    return names[1].startswith(names[0])


def _usage_figures(call: Call) -> tuple[int, int, int] | None:
    usage = call.usage
    return (usage.input, usage.cache_read, usage.output) if usage is not None else None


class SessionJoin:
    """Joins the exchanges in the session `wire` with the client's `own` transcript.

    The result's contexts are nodes of the tree of `wire`. `own` may later be replaced by a session that was read again.
    `leads`: calls get their ids and positions in the file from the transcript, else from `wire`. Without `union`, calls
    that are missing in the one that gives the ids are left out.
    """

    def __init__(self, wire: Session, own: Session, *, leads: bool = False, union: bool = True) -> None:
        self.wire, self.own = wire, own
        self._leads, self._union = leads, union
        self._mapper = _ContextMapper(wire.tree, own.tree)
        self._merged_exchanges: dict[str, tuple[Call, Call | None, Call]] = {}
        """Exchange id -> its source calls (wire, transcript) and the merged call."""
        self._mapped_calls: dict[str, tuple[Call, Call]] = {}
        """Id of a call only in the transcript -> its source call and the mapped call."""

    def join(self) -> Session:
        """Join the calls and threads of both records, as read so far."""
        if self._mapper.update_marks(self.own.tree):
            self._merged_exchanges.clear()
            self._mapped_calls.clear()
        pairs = pair_calls(self.wire, self.own)
        threads: dict[str, str] = {}
        for id_, call in pairs.wire.items():
            threads.setdefault(call.thread, self.own.calls[id_].thread)
        joined = Session(self.wire.tree, self._join_descriptions())
        owners = self._add_calls(joined, pairs, threads)
        self._add_threads(joined, pairs, threads, owners)
        skipped = self.own.skipped if self._leads else map(_from_transcript, self.own.skipped)
        joined.skipped = [*self.wire.skipped, *skipped]
        if pairs.doubtful:
            joined.skipped.append(Skipped(1, _describe_doubt(pairs.doubtful, self.own.about.source)))
        joined.happenings += (
            replace(happening, thread=threads.get(happening.thread, happening.thread))
            for happening in self.wire.happenings
        )
        joined.happenings += (self._map_happening(happening, pairs) for happening in self.own.happenings)
        joined.outcomes = [*self.wire.outcomes, *self.own.outcomes]
        joined.quotas = newest_quotas([*self.wire.quotas, *self.own.quotas])
        return joined

    def _add_calls(self, joined: Session, pairs: CallPairs, threads: dict[str, str]) -> dict[str, str]:
        """Add the calls of both in order; return the owners of threads of unanswered requests."""
        owners: dict[str, str] = {}
        for call in _calls_in_order(self.own, self.wire, pairs):
            is_exchange = self.wire.calls.get(call.id) is call
            if not self._union and is_exchange == self._leads and not (is_exchange and call.id in pairs.own):
                continue
            joined_call = self._join_call(call, pairs, threads)
            if is_exchange and call.id not in pairs.own and _is_failed(call) and joined_call.thread in self.own.threads:
                after = joined.order.get(joined_call.thread, [""])[-1]
                joined.happenings.append(
                    Happened(UNANSWERED, joined_call.error, joined_call.thread, joined_call.at, after)
                )
                owners[unanswered_thread(joined_call.thread)] = joined_call.thread
                joined_call = replace(joined_call, thread=unanswered_thread(joined_call.thread))
            if joined_call.fidelity == Fidelity.TOTALS and joined_call.usage is not None:
                unrecorded = self._unrecorded_usage(joined_call, joined_call.usage, pairs)
                if unrecorded is None:
                    continue
                joined_call = replace(joined_call, usage=unrecorded)
            if joined_call.id in joined.calls:
                joined_call = replace(joined_call, id=call.id)
            joined.calls[joined_call.id] = joined_call
            joined.order.setdefault(joined_call.thread, []).append(joined_call.id)
        return owners

    def _join_descriptions(self) -> Described:
        wire, own = self.wire.about, self.own.about
        first, second = (own, wire) if self._leads else (wire, own)
        return Described(
            id=first.id or second.id,
            title=own.title or wire.title,
            source=first.source,
            cwd=first.cwd or second.cwd,
            client=first.client or second.client,
            version=first.version or second.version,
            window=own.window or wire.window,
        )

    def _join_call(self, call: Call, pairs: CallPairs, threads: dict[str, str]) -> Call:
        if self.wire.calls.get(call.id) is not call:
            return self._map_transcript_call(call)
        own = pairs.own.get(call.id)
        cached = self._merged_exchanges.get(call.id)
        if cached is None or cached[0] is not call or cached[1] is not own:
            cached = self._merged_exchanges[call.id] = call, own, self._map_exchange(call, own)
        merged = cached[2]
        thread = threads.get(merged.thread, merged.thread) if own is None else merged.thread
        return merged if thread == merged.thread else replace(merged, thread=thread)

    def _unrecorded_usage(self, sum_: Call, used: Usage, pairs: CallPairs) -> Usage | None:
        """Subtract recorded exchanges from the client's sum; None if nothing is left."""
        # The sum excludes exchanges of other models, later ones, and ctxtui's own. Of a call that the transcript has
        # too, it includes only what the transcript does not report.
        for call in self.wire.calls.values():
            own = pairs.own.get(call.id)
            late = (
                sum_.ended is not None and call.ended is not None and call.ended > sum_.ended + _CLOCK_TOLERANCE_SECONDS
            )
            if call.usage is not None and not call.keeps_warm and not late and _is_same_model(call, sum_):
                spent = replace(call.usage, output=call.output)
                used = subtract(used, spent if own is None or own.usage is None else subtract(spent, own.usage))
        return used if used.input + used.output else None

    def _map_exchange(self, call: Call, own: Call | None) -> Call:
        mapped = _map_heads(call, self._mapper.map_wire)
        if own is None:
            return mapped
        if mapped.raw_head == ROOT:
            own = self._map_transcript_call(own)
        elif not is_answered(mapped):
            mapped = replace(mapped, response_head=self._append_answer(mapped.raw_head, own))
        merged = merge_exchange(own, mapped)
        if self._mapper.add_end(own.response_head, merged.response_head):
            self._mapped_calls.clear()
        return merged if self._leads else replace(merged, id=call.id, line=call.line, bytes_=call.bytes_)

    def _append_answer(self, head: int, own: Call) -> int:
        items = [item for item in self.own.tree.items(own.response_head, own.raw_head) if item.block.kind != HEADER]
        if not items:
            return head
        opened = Item(block.header("assistant", {"content": "list"}), items[0].place._replace(mark=""))
        return self.wire.tree.extend(head, [opened, *items])

    def _map_transcript_call(self, call: Call) -> Call:
        cached = self._mapped_calls.get(call.id)
        if cached is None or cached[0] is not call:
            skeleton = call.skeleton and self._mapper.map_skeleton(call.sent_head, call.skeleton)
            mapped = replace(_map_heads(call, self._mapper.map_transcript), skeleton=skeleton)
            if not self._leads:
                mapped = replace(mapped, id=provider_id(call), extra={**call.extra, BY_TRANSCRIPT: True})
            cached = self._mapped_calls[call.id] = call, mapped
        return cached[1]

    def _map_happening(self, happening: Happened, pairs: CallPairs) -> Happened:
        call = self.own.calls.get(happening.after)
        if call is None or self._leads:
            return happening
        wire = pairs.wire.get(call.id)
        return replace(happening, after=provider_id(call) if wire is None else wire.id)

    def _add_threads(self, joined: Session, pairs: CallPairs, threads: dict[str, str], owners: dict[str, str]) -> None:
        wire_threads = {threads.get(thread.id, thread.id): thread for thread in self.wire.threads.values()}
        for id_ in dict.fromkeys([*self.own.threads, *joined.order, *wire_threads]):
            own, wire = self.own.threads.get(id_, Thread(id_)), wire_threads.get(id_, Thread(id_))
            label, parent = own.label, own.parent
            if id_ in owners:
                label, parent = UNANSWERED_LABEL, owners[id_]
            elif id_ not in self.own.threads:
                label, parent = wire.label, threads.get(wire.parent, wire.parent)
            tip = self._thread_tip(joined, own, wire, pairs)
            if tip != ROOT or id_ in joined.order:
                joined.threads[id_] = Thread(id_, label, parent, tip)

    def _thread_tip(self, joined: Session, own: Thread, wire: Thread, pairs: CallPairs) -> int:
        calls = joined.thread_calls(own.id)
        last = calls[-1] if calls else None
        wire_calls = self.wire.order.get(wire.id, ())
        answered = self.wire.calls[wire_calls[-1]].response_head if wire_calls else ROOT
        if wire.tip not in (ROOT, answered):
            return self._mapper.map_wire(wire.tip)  # a pending request
        if last is None or last.id not in self.wire.calls or last.id in pairs.own:
            own_tip = self._mapper.map_transcript(own.tip)
            if last is None or joined.tree.holds(own_tip, last.response_head):
                return own_tip
        return last.response_head


class _ContextMapper:
    """Maps contexts of both records to nodes of the wire's tree.

    Transcript contexts continue from the exchanges where possible. Blocks of wire contexts get the marks that the
    transcript gives them (`Place.mark`: ``summary``, ``meta`` ...).
    """

    def __init__(self, tree: Tree, own: Tree) -> None:
        self._tree, self._own = tree, own
        self._paths = tree.running(), own.running()
        self.ends: dict[int, int] = {}
        """End of an answer in the transcript's tree -> its end in the wire's tree."""
        self._mapped_nodes: dict[int, int] = {}
        """Node of the transcript's tree -> its node in the wire's tree."""
        self._marked: dict[int, int] = {}
        """Node of the wire's tree -> the same with the transcript's marks."""
        self._marks: dict[str, str] = {}
        """Digest of a block -> its mark in the transcript."""
        self._seen = 0

    def add_end(self, own: int, sent: int) -> bool:
        """Map the end of an answer in the transcript to its end on the wire.

        True if mapped contexts are outdated.
        """
        is_outdated = self.ends.get(own, self._mapped_nodes.get(own, sent)) != sent
        self.ends[own] = sent
        if is_outdated:
            self._mapped_nodes.clear()
        return is_outdated

    def update_marks(self, own: Tree) -> bool:
        """Read the marks of new blocks; True if mapped contexts are outdated."""
        is_outdated = own is not self._own
        if is_outdated:
            self._own, self._seen = own, 0
            self._paths = self._tree.running(), own.running()
            self.ends.clear()
            self._mapped_nodes.clear()
        before = len(self._marks)
        for node in own.nodes(self._seen):
            if node.place.mark:
                self._marks.setdefault(node.block.digest, node.place.mark)
        self._seen = len(own)
        if len(self._marks) != before:
            self._marked.clear()
            self._mapped_nodes.clear()
        return is_outdated or len(self._marks) != before

    def map_wire(self, head: int) -> int:
        if not self._marks:
            return head
        at, later_nodes = head, list[int]()
        while at != ROOT and at not in self._marked:
            later_nodes.append(at)
            at = self._tree[at].parent
        mapped = self._marked.get(at, ROOT)
        for node in reversed(later_nodes):
            block, place = self._tree[node].block, self._tree[node].place
            mark = self._marks.get(block.digest, "") if place.section == "messages" else ""
            mapped = self._tree.child(mapped, block, place._replace(mark=mark or place.mark))
            self._marked[node] = mapped
        return mapped

    def map_skeleton(self, head: int, skeleton: Skeleton) -> Skeleton:
        new = self.map_transcript(head)
        more, marks = self._tree[new].depth - self._own[head].depth, read_markers(skeleton.parts)
        if not more or not marks:
            return skeleton
        wire_path, own_path = self._paths
        pairs = zip(map(self._tree.digest, wire_path.to(new)), map(self._own.digest, own_path.to(head)), strict=False)
        same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
        moved = {item + more * (item >= same): mark for item, mark in marks.items()}
        return Skeleton(skeleton.dialect, {**skeleton.parts, "marks": markers_json(moved)})

    def map_transcript(self, head: int) -> int:
        at, later_nodes = head, list[int]()
        while at != ROOT and at not in self.ends and at not in self._mapped_nodes:
            later_nodes.append(at)
            at = self._own[at].parent
        mapped = self.ends.get(at) or self._mapped_nodes.get(at, ROOT)
        for node in reversed(later_nodes):
            mapped = self._tree.extend(mapped, [Item(self._own[node].block, self._own[node].place)])
            self._mapped_nodes[node] = mapped
        return mapped


def _calls_in_order(own: Session, wire: Session, pairs: CallPairs) -> Iterator[Call]:
    """Yield every call once: in the transcript's order, with wire-only calls inserted by time."""
    wire_only = [call for call in wire.calls.values() if call.id not in pairs.own]
    next_, latest = 0, 0.0
    for call in own.calls.values():
        merged = pairs.wire.get(call.id, call)
        latest = max(latest, merged.started or merged.ended or 0.0)
        while next_ < len(wire_only) and (wire_only[next_].at or 0.0) < latest:
            yield wire_only[next_]
            next_ += 1
        yield merged
    yield from wire_only[next_:]


def _map_heads(call: Call, map_head: Callable[[int], int]) -> Call:
    raw, sent, response = map(map_head, (call.raw_head, call.sent_head, call.response_head))
    return replace(call, raw_head=raw, sent_head=sent, response_head=response)


def _from_transcript(skipped: Skipped) -> Skipped:
    return replace(skipped, reason=f"in the client's transcript: {skipped.reason}")


def _describe_doubt(calls: int, source: str) -> str:
    transcript_name = f"{source}'s transcript" if source else "the client's transcript"
    return (
        f"{transcript_name} has none of the exchanges' ids: {calls} of its calls could not be joined, "
        "and may be listed twice"
    )


def events_between(old: Session, new: Session) -> list[Event] | None:
    """List the events that turn `old` into `new`, which shares its tree.

    None if a thread of `new` does not begin with its calls in `old`: then the session must be shown again.
    """
    if not all(new.order.get(thread, [])[: len(ids)] == ids for thread, ids in old.order.items()):
        return None
    return _diff_sessions(old, new)


def _diff_sessions(old: Session, new: Session) -> list[Event]:
    events: list[Event] = [new.about] if new.about != old.about else []
    for id_, thread in new.threads.items():
        before = old.threads.get(id_, Thread(id_))
        if (thread.label, thread.parent) != (before.label, before.parent):
            events.append(ThreadSeen(id_, thread.label, thread.parent))
    for id_, call in new.calls.items():
        old_call = old.calls.get(id_)
        if old_call is not call and old_call != call:
            events.append(CallSeen(call))
    # No event removes a call, so one that is gone (a sum of which nothing is left) gets an empty usage.
    removed_calls = (call for id_, call in old.calls.items() if id_ not in new.calls and call.usage != Usage())
    events += (CallSeen(replace(call, usage=Usage())) for call in removed_calls)
    for id_, thread in new.threads.items():
        if thread.tip != old.threads.get(id_, Thread(id_)).tip:
            events.append(TipMoved(id_, thread.tip))
    now = Counter[Event]([*new.skipped, *new.happenings, *new.outcomes, *new.quotas])
    return [*events, *(now - Counter[Event]([*old.skipped, *old.happenings, *old.outcomes, *old.quotas])).elements()]


class JoinedReader(Reader):
    """Reads the opened file with `main`, and joins the companion files of the other record.

    - `beside`: makes the reader of a companion file by its name; None: `main` reads the file.
    - `apart`: the tree on which `beside` reads; None: `tree`.
    - `settle`: returns the companions' events that are known only at the end, given the session as read by `main`.
    - `transcript`: `main` reads the transcript, else the exchanges; `union` as for `SessionJoin`.
    """

    def __init__(
        self,
        main: Reader,
        tree: Tree,
        beside: Callable[[str], Reader | None],
        *,
        transcript: bool = True,
        union: bool = True,
        apart: Tree | None = None,
        settle: Callable[[Session], list[Event]] = lambda session: [],
    ) -> None:
        self.main = main
        self._beside, self._settle = beside, settle
        # The session as `main` reads it, that of the companions, and the joined one as reported so far.
        self._first, self._other, self._reported = Session(tree), Session(apart or tree), Session(tree)
        wire, own = (self._other, self._first) if transcript else (self._first, self._other)
        self._join = SessionJoin(wire, own, leads=transcript, union=union)
        self._has_companion = False

    @property
    def tail(self) -> Skipped | None:
        return self.main.tail

    @property
    def rereads(self) -> bool:
        return self.main.rereads

    def feed(self, data: bytes) -> list[Event]:
        return self._fold_main(self.main.feed(data))

    def settle(self) -> list[Event]:
        if not self._has_companion:
            return self._fold_main(self.main.settle())
        self._first.fold(self.main.settle())
        self._other.fold(self._settle(self._first))
        joined = self._join.join()
        before, self._reported = self._reported, joined
        return _diff_sessions(before, joined)

    def part(self, name: str) -> Reader:
        reader = self._beside(name)
        if reader is None:
            return ChangedReader(self.main.part(name), self._fold_main)
        self._has_companion = True
        return ChangedReader(reader, self._fold_other)

    def _fold_main(self, events: list[Event]) -> list[Event]:
        self._first.fold(events)
        self._reported.fold(events)
        return events

    def _fold_other(self, events: list[Event]) -> list[Event]:
        self._other.fold(events)
        return []
