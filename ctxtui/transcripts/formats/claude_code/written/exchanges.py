"""Converts the files of exchanges that Claude Code wrote into calls.

Side calls (a title's, a compaction's own), which no transcript has, get threads of their own (facts §13.1).
"""

from __future__ import annotations

import itertools
import operator
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Final

from ctxtui.core import block_content
from ctxtui.core.call import Call, EpochStart, Fidelity
from ctxtui.core.canonical import Json
from ctxtui.core.errors import Malformed
from ctxtui.core.session import MAIN, Described, Event, Session, Skipped, TipMoved
from ctxtui.core.tree import ROOT, Tree
from ctxtui.transcripts.formats.claude_code.session_info import SOURCE
from ctxtui.transcripts.formats.claude_code.written.bodies import REQUEST, IndexLine, WrittenBodies, WrittenExchange
from ctxtui.transcripts.formats.claude_code.written.request import (
    REDACTED,
    WrittenRequest,
    answer_name,
    collect_thinking,
    compute_ending,
    items_upwards,
    restore_thinking,
)
from ctxtui.transcripts.kit.conversations import ClientThread, Conversation, Conversations
from ctxtui.transcripts.kit.fields import compaction_detail, one_line
from ctxtui.wire.grammar import ANTHROPIC
from ctxtui.wire.registry import DIALECTS
from ctxtui.wire.request import Response

_COMPACT: Final = "compact"
_NO_ANSWER: Final = "no recorded answer"
_MAIN: Final = ("sdk", "repl_main_thread")
_AGENT: Final = "agent:"
_LABELS: Final = {_COMPACT: "compaction", "generate_session_title": "title", "": "side call"}
_MIN_ORDERED_SHARE: Final = 0.8
"""Minimum share of the index whose requests were written in its order for file times to be trusted."""
_LABEL_CHARS: Final = 60
_CLIENT: Final = re.compile(r"cc_version=(\d+\.\d+\.\d+)[^;]*;(?:\s*cc_entrypoint=([\w-]+))?")


class _WrittenCalls:
    """Emits the calls of bodies: each once, and again after each change."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._threads = Conversations(tree)
        self._conversations: dict[str, Conversation] = {}
        """Call -> its conversation."""
        self._answered: dict[tuple[str, str], ClientThread] = {}
        """Query source and last answer of a request -> the thread that it continues."""
        self._main: Conversation | None = None
        self._system = ""
        """System prompt of the main thread, which has the requests with this prompt that the index does not name."""
        self._sources: dict[str, tuple[object, object, object]] = {}
        """Call -> the index line, request and answer that it was last built from."""
        self._redacted_counts: dict[str, int] = {}
        """Call -> number of redacted thinking blocks in it when last emitted."""
        self._title = ""
        self._about = Described()

    @property
    def calls(self) -> dict[str, Call]:
        return self._threads.calls

    def events(
        self, bodies: WrittenBodies, transcript_calls: Mapping[str, Call] | None, thoughts: Mapping[str, str]
    ) -> list[Event]:
        """Return events for new data; `transcript_calls` is None without a transcript."""
        events: list[Event] = []
        for exchange in _order_exchanges(bodies, transcript_calls):
            events += self._emit_exchange(exchange, thoughts, alone=transcript_calls is None)
        events += self._threads.settle()
        # The transcript determines the threads' tips.
        return [event for event in events if transcript_calls is None or not isinstance(event, TipMoved)]

    def _emit_exchange(self, exchange: WrittenExchange, thoughts: Mapping[str, str], alone: bool) -> list[Event]:
        source = exchange.line.source if exchange.line else ""
        if not source and exchange.request is not None and exchange.request.compacts:
            source = _COMPACT
        sources = (exchange.line, exchange.request, exchange.response)
        is_unchanged = all(map(operator.is_, sources, self._sources.get(exchange.id, (0, 0, 0))))
        if is_unchanged and (not self._redacted_counts.get(exchange.id) or exchange.request is None):
            return []
        self._sources[exchange.id] = sources
        call, redacted_count = self._build_call(exchange, thoughts)
        if is_unchanged and redacted_count == self._redacted_counts.get(exchange.id, 0):
            return []
        self._redacted_counts[exchange.id] = redacted_count
        conversation = self._conversations.get(exchange.id)
        if conversation is not None:
            return self._threads.update(conversation, call)
        client = self._thread_of(exchange, source)
        conversation = self._conversations[exchange.id] = self._threads.find(
            exchange.request.items if exchange.request else (), client=client
        )
        events: list[Event] = []
        if client.name == MAIN:
            self._main = conversation
            if exchange.request is not None:
                self._system = self._system or exchange.request.system
            events += self._describe(exchange.request) if alone else []
        elif source == _COMPACT and self._main is not None and self._main.calls:
            used = self.calls[self._main.calls[-1]].usage
            self._main.restart = (
                EpochStart.COMPACTION,
                compaction_detail(used.input if used is not None else 0, 0, "claude code"),
            )
        name = answer_name(self._tree.items(call.response_head, call.raw_head))
        if name:
            self._answered.setdefault((source, name), client)
        return [*events, *self._threads.add_call(conversation, call)]

    def _thread_of(self, exchange: WrittenExchange, source: str) -> ClientThread:
        """Return the thread of an exchange.

        The recorded query source names it (the main thread, or one of side calls) unless it is an agent's. A request of
        an agent or without a source belongs to the thread whose answer it continues. If there is none, a request
        without a source belongs to the main thread if the system prompts are equal; any other begins a thread.
        """
        request = exchange.request
        if source in _MAIN or source.startswith(f"{_MAIN[1]}:") or (request is None and not source):
            return ClientThread(MAIN)
        is_agent = source.startswith(_AGENT)
        if request is None or (source and not is_agent) or not (source or request.tools):
            label = _LABELS.get(source, source.replace("_", " "))
            return ClientThread(source or label, label, MAIN, aside=not is_agent)
        thread = self._answered.get((source, request.ending.answer)) if request.ending.answer else None
        if thread is not None:
            return thread
        if not source and request.system == (self._system or request.system):
            return ClientThread(MAIN)
        label = one_line(request.prompt)[:_LABEL_CHARS]
        return ClientThread(f"agent {request.name.removesuffix(REQUEST)[:8]}", label, MAIN)

    def _build_call(self, exchange: WrittenExchange, thoughts: Mapping[str, str]) -> tuple[Call, int]:
        """Build the call of an exchange; also returns how many thinking blocks are still redacted."""
        line, request = exchange.line, exchange.request
        items, redacted_count = restore_thinking(request.items, thoughts) if request is not None else ((), 0)
        head = self._tree.extend(ROOT, items)
        answer = _decode_answer(exchange)
        answer_items, redacted_in_answer = restore_thinking(answer.items, thoughts)
        facts: dict[str, Json] = {}
        if line is not None:
            facts |= {"requestId": line.request_id, "query_source": line.source, "response_file": line.response}
        if request is not None:
            facts |= {"request_file": request.name, "betas": request.betas, "redacted_thinking": redacted_count}
        requested_model = request.model if request is not None else line.model if line is not None else ""
        call = Call(
            exchange.id,
            "",
            head,
            head,
            self._tree.extend(head, answer_items),
            provider=ANTHROPIC,
            model=answer.model or requested_model,
            ended=line.at if line is not None else None,
            fidelity=Fidelity.WIRE if request is not None and request.skeleton is not None else Fidelity.TRANSCRIPT,
            usage=answer.usage,
            stop_reason=answer.stop_reason,
            error=answer.error or (_NO_ANSWER if exchange.line is None and exchange.response is None else ""),
            skeleton=request.skeleton if request is not None else None,
            extra=answer.extra | {key: item for key, item in facts.items() if item},
        )
        return call, redacted_count + redacted_in_answer

    def _describe(self, request: WrittenRequest | None) -> list[Event]:
        if request is None:
            return []
        self._title = self._title or one_line(request.prompt)
        match = _CLIENT.search(_first_system_text(request))
        version, client = (match[1], match[2] or "") if match else ("", "")
        about = Described(id=request.session, title=self._title, source=SOURCE, version=version, client=client)
        if about == self._about:
            return []
        self._about = about
        return [about]


def _order_exchanges(bodies: WrittenBodies, transcript_calls: Mapping[str, Call] | None) -> list[WrittenExchange]:
    """List all exchanges in order: those of the index, and the others inserted by position."""
    named: dict[str, WrittenExchange] = {}
    loose: dict[str, WrittenExchange] = {}
    for line, call in bodies.lines:
        named.setdefault(call, WrittenExchange(call, line=line))
        _merge_files(named[call], bodies.requests.get(line.request), bodies.responses.get(line.response))
    for exchange in bodies.unindexed():
        _merge_files(
            named.get(exchange.id) or loose.setdefault(exchange.id, exchange), exchange.request, exchange.response
        )
    # A request without a recorded answer is a call of the transcript, which may be read later, or a failed attempt. A
    # transcript that records its requests has the failed attempts, too.
    further_requests = {
        call: request.name for call in transcript_calls or () if (request := bodies.find_request(call)) is not None
    }
    if all(call.fidelity != Fidelity.WIRE for call in (transcript_calls or {}).values()):
        further_requests |= {
            f"request {name.removesuffix(REQUEST)}": name
            for name in bodies.unanswered()
            if transcript_calls is None or bodies.was_sent_again(name)
        }
    for call, name in further_requests.items():
        exchange = WrittenExchange(call, order=bodies.order(name))
        _merge_files(named.get(call) or loose.setdefault(call, exchange), bodies.requests[name], None)
    indexed, unindexed = list(named.values()), list(loose.values())
    unindexed.sort(
        key=lambda exchange: bodies.order(exchange.request.name) if exchange.request is not None else exchange.order
    )
    if unindexed:
        _insert_all(indexed, unindexed, bodies)
    return indexed


def _merge_files(exchange: WrittenExchange, request: WrittenRequest | None, response: dict[str, Json] | None) -> None:
    exchange.request, exchange.response = exchange.request or request, exchange.response or response


def _insert_all(exchanges: list[WrittenExchange], unindexed: list[WrittenExchange], bodies: WrittenBodies) -> None:
    """Insert `unindexed` into `exchanges`.

    By the order of writing if file times are reliable. Else each goes after the answer that it continues from, or to
    the end if that answer is not known.
    """
    orders = [bodies.order(exchange.request.name) if exchange.request is not None else -1 for exchange in exchanges]
    file_orders = [order for order in orders if order >= 0]
    timed = sum(a < b for a, b in itertools.pairwise(file_orders)) >= _MIN_ORDERED_SHARE * (len(file_orders) - 1)
    names = [answer_name(_decode_answer(exchange).items) for exchange in exchanges]
    endings = [exchange.request.ending.answer if exchange.request is not None else "" for exchange in exchanges]
    for exchange in unindexed:
        order = bodies.order(exchange.request.name) if exchange.request is not None else exchange.order
        answer = exchange.request.ending.answer if exchange.request is not None else ""
        if timed:
            index = next((n for n, later in enumerate(orders) if later > order), len(exchanges))
        else:
            index = len(names) - names[::-1].index(answer) if answer and answer in names else len(exchanges)
            while index < len(exchanges) and endings[index] == answer:
                index += 1
        exchanges.insert(index, exchange)
        endings.insert(index, answer)
        orders.insert(index, order)
        names.insert(index, answer_name(_decode_answer(exchange).items))


def _decode_answer(exchange: WrittenExchange) -> Response:
    """Decode the answer of an exchange; an empty one if its file is missing."""
    if exchange.response is None:
        return Response()
    try:
        return DIALECTS[ANTHROPIC].decode_response(exchange.response)
    except Malformed as error:
        return Response(error=str(error), complete=False)


def _first_system_text(request: WrittenRequest) -> str:
    first = next((i for i in request.items if i.place.section == "system"), None)
    return block_content.read(first.block).text if first is not None else ""


_MAX_LISTED: Final = 3
"""File names that a message lists; the others are counted."""


class WrittenExchanges:
    """The exchanges in body files.

    `sessions` are the ids of the transcript's session (empty without a transcript).
    """

    def __init__(self, tree: Tree, sessions: Collection[str] = ()) -> None:
        self._tree = tree
        self._sessions = sessions
        self._lines: list[IndexLine] = []
        """Lines of the index since the last `settle`."""
        self._transcript_calls: dict[str, Call] = {}
        self._by_request: dict[str, str] = {}
        """Request id -> id of the transcript's call."""
        self._first_request_ids: dict[str, str] = {}
        """Message id -> its first request id."""
        self._thoughts: dict[str, str] = {}
        """The transcript's thinking, by the keys of `collect_thinking`."""
        self.bodies = WrittenBodies()
        self._calls = _WrittenCalls(tree)

    def add_line(self, line: IndexLine) -> None:
        self._lines.append(line)

    def add_request(self, name: str, data: bytes) -> WrittenRequest:
        return self.bodies.add_request(name, data, self._sessions)

    def report_missing(self) -> Skipped | None:
        """Report missing bodies and unanswered requests; None if there are none.

        Requests without a recorded answer are reported only with a transcript, and unless they were sent again.
        """
        missing = self.bodies.missing()
        unanswered = self.bodies.unanswered() if self._transcript_calls else []
        open_ = [name for name in unanswered if not self.bodies.was_sent_again(name)]
        problems = [_describe_names(missing, "named by the index but missing")] if missing else []
        problems += [_describe_names(open_, "without a recorded answer")] if open_ else []
        return Skipped(1, "bodies of requests: " + "; ".join(problems)) if problems else None

    def report_redacted(self) -> Skipped | None:
        """Report redacted thinking in bodies without a transcript; None if there is none."""
        count = sum("redacted_thinking" in call.extra for call in self._calls.calls.values())
        if not count:
            return None
        requests = "1 request" if count == 1 else f"{count} requests"
        text = f"the thinking in {requests} reads {REDACTED}: the session's transcript was not found"
        return Skipped(1, text)

    def settle(self, transcript: Session | None = None) -> list[Event]:
        """Return events for new or changed calls; a call of the `transcript` has its id there."""
        for call in transcript.calls.values() if transcript is not None else ():
            if self._transcript_calls.get(call.id) is not call and call.fidelity != Fidelity.TOTALS:
                self._learn_call(call)
        for line in self._lines:
            call_id = self._call_id_of(line)
            if not self._sessions or line.session in self._sessions or call_id in self._transcript_calls:
                self.bodies.add_line(line, call_id)
            else:
                self.bodies.ignore_line(line)
        self._lines.clear()
        return self._calls.events(
            self.bodies, self._transcript_calls if transcript is not None else None, self._thoughts
        )

    def _learn_call(self, call: Call) -> None:
        """Use a call of the transcript to match bodies and to restore the thinking of its answer."""
        self._transcript_calls[call.id] = call
        request_id = call.extra.get("requestId")
        if isinstance(request_id, str):
            self._by_request[request_id] = call.id
        self._thoughts |= collect_thinking(self._tree.items(call.response_head, call.raw_head))
        self.bodies.add_call(call.id, compute_ending(items_upwards(self._tree, call.raw_head), own=True))

    def _call_id_of(self, line: IndexLine) -> str:
        if line.request_id in self._by_request:
            return self._by_request[line.request_id]
        if not line.message_id:
            return line.request_id or line.response
        first = self._first_request_ids.setdefault(line.message_id, line.request_id)
        # Answers of gateways that reuse one id are distinguished as in the transcript's reader.
        return line.message_id if first == line.request_id else f"{line.message_id}+{line.request_id}"


def _describe_names(names: Sequence[str], problem: str) -> str:
    listed = ", ".join(names[:_MAX_LISTED])
    rest_text = f" and {len(names) - _MAX_LISTED} more" if len(names) > _MAX_LISTED else ""
    return f"{len(names)} {problem} ({listed}{rest_text})"
