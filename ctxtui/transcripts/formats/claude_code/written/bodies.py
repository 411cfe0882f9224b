"""Matches API bodies that Claude Code wrote to files with the calls of its transcript.

Claude Code 2.1.280 and newer write an index of the files. Requests that are not in an index are matched by the answer,
results and texts at their end, the `Ending` (facts §13.1).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Final

from msgspec import Struct, field

from ctxtui.core.canonical import Json
from ctxtui.core.errors import Malformed
from ctxtui.core.json_values import as_str
from ctxtui.transcripts.formats.claude_code.written.request import (
    Ending,
    WrittenRequest,
    answer_name,
    answer_parts,
    read_request,
)
from ctxtui.wire.codec.memo import Memo

REQUEST: Final = ".request.json"
_RESPONSE: Final = ".response.json"


class IndexLine(Struct, frozen=True, kw_only=True):
    """A line of the index: one answer, and the names of its files; `at` in Unix seconds."""

    at: float | None = None
    session: str = ""
    source: str = ""
    model: str = ""
    request_id: str = ""
    message_id: str = ""
    request: str = ""
    response: str = ""


class WrittenExchange(Struct):
    """A request and its answer from files; `id` is the call's, `order` that of writing."""

    id: str
    line: IndexLine | None = None
    request: WrittenRequest | None = None
    response: dict[str, Json] | None = None
    order: int = 0


class _TranscriptCall(Struct):
    """A call of the transcript, with the ending of its context without texts of the client."""

    id: str
    ending: Ending
    order: int


class _Group(Struct):
    requests: list[str] = field(default_factory=list)
    calls: list[str] = field(default_factory=list)


class WrittenBodies:
    """All body files of a session, and the call that each request belongs to."""

    def __init__(self) -> None:
        self._memo = Memo()
        self.requests: dict[str, WrittenRequest] = {}
        self.responses: dict[str, dict[str, Json]] = {}
        self.damaged: set[str] = set()
        """Existing files that could not be read."""
        self.lines: list[tuple[IndexLine, str]] = []
        self.calls: dict[str, _TranscriptCall] = {}
        self._order: dict[str, int] = {}
        """File -> its number in the order of reading (that of the file times)."""
        self._foreign: set[str] = set()
        """Files of other sessions."""
        self._claims: dict[str, str] = {}
        """Request file -> its call, by the index."""
        self._answers: dict[str, str] = {}
        """Response file -> its call, by the index."""
        self._groups: dict[str, _Group] = {}
        """Requests and calls by the name of the last answer in their context."""
        self._requests_by_position: dict[str, str] = {}
        """Call -> its request file, by the ending of its context (`Ending`)."""
        self._requests_by_index: dict[str, str] = {}
        """Call -> its request file, by the index."""

    def add_request(self, name: str, data: bytes, sessions: Collection[str] = ()) -> WrittenRequest:
        """Read the file `name`; raises `Malformed` if it holds no request.

        A request that names none of `sessions`, if given, is only matched by the index.
        """
        request = self.requests[name] = read_request(name, data, self._memo)
        self._order.setdefault(name, len(self._order))
        if sessions and request.session and request.session not in sessions:
            self._foreign.add(name)
            return request
        self._group_of(request.ending).requests.append(name)
        self._match_group(request.ending)
        return request

    def ignore_line(self, line: IndexLine) -> None:
        self._foreign.update(filter(None, (line.request, line.response)))

    def add_response(self, name: str, value: dict[str, Json]) -> None:
        """Add the answer in the file `name`; raises `Malformed` if it is not an answer."""
        if not isinstance(value.get("content"), list) and "error" not in value:
            raise Malformed("not an answer", place=name)
        self.responses[name] = value
        self._order.setdefault(name, len(self._order))

    def add_line(self, line: IndexLine, call: str) -> None:
        self.lines.append((line, call))
        if line.request:
            self._claims[line.request] = call
            self._requests_by_index[call] = line.request
        if line.response:
            self._answers[line.response] = call
        request = self.requests.get(line.request)
        if request is not None:
            self._match_group(request.ending)

    def add_call(self, id_: str, ending: Ending) -> None:
        old = self.calls.get(id_)
        if old is not None and old.ending == ending:
            return
        self.calls[id_] = _TranscriptCall(id_, ending, old.order if old is not None else len(self.calls))
        if old is not None:
            self._group_of(old.ending).calls.remove(id_)
            self._match_group(old.ending)
        self._group_of(ending).calls.append(id_)
        self._match_group(ending)

    def find_request(self, call: str) -> WrittenRequest | None:
        named = self._requests_by_index.get(call)
        return self.requests.get(named if named is not None else self._requests_by_position.get(call, ""))

    def was_sent_again(self, name: str) -> bool:
        """Whether an equal request was answered or came later."""
        mine = self.requests[name]
        answered = {*self._requests_by_position.values(), *self._claims}
        return any(
            (sibling in answered or self._order[sibling] > self._order[name])
            and self.requests[sibling].ending == mine.ending
            and self.requests[sibling].system == mine.system
            for sibling in self._group_of(mine.ending).requests
            if sibling != name
        )

    def missing(self) -> list[str]:
        """List the files that the index names and that do not exist."""
        named = [name for line, _ in self.lines for name in (line.request, line.response) if name]
        present_files = self.requests.keys() | self.responses.keys() | self.damaged
        return [name for name in dict.fromkeys(named) if name not in present_files]

    def unanswered(self) -> list[str]:
        """List the request files that belong to no call and no answer."""
        used = {*self._requests_by_position.values(), *self._claims, *self._pair_responses().values(), *self._foreign}
        return sorted((name for name in self.requests if name not in used), key=self._order.__getitem__)

    def order(self, name: str) -> int:
        """Return the position of a file among the bodies, in order of writing."""
        return self._order[name]

    def unindexed(self) -> list[WrittenExchange]:
        """List the exchanges whose answers the index does not name."""
        pairs = self._pair_responses()
        exchanges: list[WrittenExchange] = []
        for name, value in self.responses.items():
            if name not in self._answers and name not in self._foreign:
                request = self.requests.get(pairs.get(name, ""))
                stem = name.removesuffix(_RESPONSE)
                id_ = as_str(value.get("id")) or stem
                # Gateways may give many answers one id.
                id_ = f"{id_}+{stem}" if any(id_ == exchange.id for exchange in exchanges) else id_
                exchanges.append(WrittenExchange(id_, request=request, response=value, order=self._order[name]))
        return exchanges

    def _pair_responses(self) -> dict[str, str]:
        # The request is the one before that answer according to a later request, else the latest earlier one of the
        # same model without another answer.
        pairs: dict[str, str] = {}
        used = set(self._claims) | set(self._requests_by_position.values()) | self._foreign
        open_: list[str] = []
        later = {request.ending.answer: request for request in self.requests.values() if request.ending.answer}
        for name, value in self.responses.items():
            if name in self._answers or name in self._foreign:
                continue
            call = as_str(value.get("id"))
            request_name = self._requests_by_position.get(call) or self._requests_by_index.get(call)
            if request_name is None and call not in self.calls:
                after = later.get(answer_name(answer_parts(value)))
                request_name = self._request_answered_last(after, used) if after is not None else None
            if request_name is not None:
                pairs[name] = request_name
                used.add(request_name)
            elif call not in self.calls:
                open_.append(name)
        for name in open_:
            request_name = self._latest_request_before(
                self._order[name], as_str(self.responses[name].get("model")), used
            )
            if request_name is not None:
                pairs[name] = request_name
                used.add(request_name)
        return pairs

    def _request_answered_last(self, after: WrittenRequest, used: set[str]) -> str | None:
        for name in self._group_of(Ending(answer=after.before)).requests:
            request = self.requests[name]
            if name not in used and name != after.name and request.system == after.system and not request.compacts:
                return name
        return None

    def _latest_request_before(self, order: int, model: str, used: set[str]) -> str | None:
        for name in sorted(self.requests, key=lambda name: -self._order[name]):
            model_of_request = self.requests[name].model
            # An unknown model is "".
            alike = model.startswith(model_of_request) or model_of_request.startswith(model)
            if self._order[name] < order and name not in used and alike:
                return name
        return None

    def _group_of(self, ending: Ending) -> _Group:
        return self._groups.setdefault(ending.answer, _Group())

    def _match_group(self, ending: Ending) -> None:
        """Match requests and calls after one answer, by the index, else by the best fit."""
        group = self._group_of(ending)
        for call in group.calls:
            self._requests_by_position.pop(call, None)
        free = [name for name in group.requests if name not in self._claims and name not in self._foreign]
        for call in sorted(group.calls, key=lambda call_id: self.calls[call_id].order):
            if call in self._requests_by_index:
                continue
            request_name = _best_request(
                self.calls[call].ending, ((name, self.requests[name]) for name in free), self._order
            )
            if request_name is not None:
                self._requests_by_position[call] = request_name
                free.remove(request_name)


def _best_request(ending: Ending, requests: Iterable[tuple[str, WrittenRequest]], order: dict[str, int]) -> str | None:
    """Choose the request that a call with the ending `ending` sent; None if none fits."""
    # The requests for a compaction and a title hold the same texts and more; of equal attempts the last one was
    # answered.
    best: tuple[tuple[int, bool, int, int], str] | None = None
    for name, request in requests:
        request_ending = request.ending
        if not ending.results <= request_ending.results:
            continue
        missing_texts = sum(
            not any(text in request_text for request_text in request_ending.texts) for text in ending.texts
        )
        if ending.texts and missing_texts == len(ending.texts) and not ending.results:
            continue
        score = (missing_texts, not request.tools, request_ending.parts, -order[name])
        if best is None or score < best[0]:
            best = score, name
    return best[1] if best is not None else None
