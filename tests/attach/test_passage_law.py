"""A law: however the bytes of both ends come in pieces, each end gets those of the other one, and they are told."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from ctxtui.attach.exchange_events import (
    AnswerBegun,
    AnswerBytes,
    ExchangeEnded,
    ExchangeEvent,
    RequestBytes,
    RequestDecided,
)
from ctxtui.attach.gate import AnswerVerdict, DecideAnswer, RequestVerdict, WaitingAnswer, WaitingRequest
from ctxtui.attach.http1 import Head
from ctxtui.attach.passage import Passage
from ctxtui.attach.route import Route
from ctxtui.attach.upstream import Upstream

PROVIDER = Upstream("p", "http://127.0.0.1:9")
BODIES = st.one_of(st.binary(max_size=60), st.sampled_from([b"\r\n", b"0\r\n\r\n", b"x" * 5000, "höi".encode()]))
NO_BODY = (204, 304)


class BothEnds:
    """Keeps what would leave; a provider that is connected at once, or only when it is told to be."""

    def __init__(self) -> None:
        self.told: list[ExchangeEvent] = []
        self.at_client = self.at_provider = b""
        self.ended = self.opening = False
        names = map(str, range(1000))
        self.passage = Passage(Route([PROVIDER], self.told.append, lambda: next(names)), self)

    def to_client(self, data: bytes) -> None:
        self.at_client += data

    def to_provider(self, data: bytes) -> None:
        self.at_provider += data

    def open(self, upstream: Upstream) -> None:
        assert upstream is PROVIDER
        self.opening = True

    def ask(self, waiting: WaitingRequest) -> None:
        raise AssertionError("nobody is to be asked")

    def end(self, abort: bool = False) -> None:
        self.ended = True

    def break_off(self) -> None:
        raise AssertionError("nothing broke")

    def pieces(self, data: bytes, cuts: Sequence[int], client: bool) -> None:
        """`data` as it comes, in pieces as long as `cuts` say."""
        at = 0
        for size in [*cuts, len(data)]:
            piece, at = data[at : at + size], at + size
            if piece:
                (self.passage.client_data if client else self.passage.provider_data)(piece, 1.0)
            # The connection to the provider is there some time after the head.
            if client and self.opening and at > 90:
                self.opening = False
                self.passage.connected(1.0)
        if self.opening:
            self.opening = False
            self.passage.connected(1.0)


def chunked(body: bytes, cuts: Sequence[int], trailer: bytes) -> bytes:
    made, at = b"", 0
    for size in [*cuts, len(body)]:
        piece, at = body[at : at + size], at + size
        if piece:
            made += b"%x%b\r\n%b\r\n" % (len(piece), b";e=1" if size % 7 == 0 else b"", piece)
    return made + b"0\r\n" + trailer + b"\r\n"


@st.composite
def messages(draw: st.DrawFn, answer: bool) -> tuple[bytes, bytes, int]:
    """A request or an answer as it goes over the wire, what its body says, and its status."""
    body, status = draw(BODIES), draw(st.sampled_from([200, 200, 204, 304, 429, 529])) if answer else 0
    head = b"HTTP/1.1 %d Fine\r\n" % status if answer else b"POST /v1/messages HTTP/1.1\r\nHost: 127.0.0.1:9\r\n"
    head += b"X-Odd:  " + draw(st.sampled_from([b"a", b"", b"two  blanks"])) + b"\r\n"
    if status in NO_BODY:
        return head + b"\r\n", b"", status
    if draw(st.booleans()):
        cuts = draw(st.lists(st.integers(1, 40), max_size=6))
        trailer = draw(st.sampled_from([b"", b"T: 1\r\n"]))
        return head + b"Transfer-Encoding: chunked\r\n\r\n" + chunked(body, cuts, trailer), body, status
    return head + b"Content-Length: %d\r\n\r\n" % len(body) + body, body, status


CUTS = st.lists(st.one_of(st.integers(1, 9), st.integers(1, 300)), max_size=30)
EARLY = st.sampled_from([b"", b"", b"HTTP/1.1 100 Continue\r\n\r\n", b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"])


@given(st.lists(st.tuples(messages(False), messages(True), CUTS, CUTS, EARLY), min_size=1, max_size=3))
def test_each_end_gets_the_bytes_of_the_other(
    exchanges: list[tuple[tuple[bytes, bytes, int], tuple[bytes, bytes, int], list[int], list[int], bytes]],
) -> None:
    ends = BothEnds()
    asked, answered = b"", b""
    for (request, said, _), (answer, told, status), ours, theirs, early in exchanges:
        before = len(ends.told)
        ends.pieces(request, ours, client=True)
        asked += request
        assert ends.at_provider == asked
        ends.pieces(early + answer, theirs, client=False)
        answered += early + answer
        assert ends.at_client == answered and not ends.ended
        news = ends.told[before:]
        assert b"".join(one.data for one in news if isinstance(one, RequestBytes)) == said
        assert [one.last for one in news if isinstance(one, RequestBytes)].count(True) == 1
        assert b"".join(one.data for one in news if isinstance(one, AnswerBytes)) == told
        assert [one.status for one in news if isinstance(one, AnswerBegun)] == [status]
        assert [one.error for one in news if isinstance(one, ExchangeEnded)] == [""]
    ends.passage.client_ended(2.0, gone=False)
    assert ends.ended


@given(messages(True), CUTS, st.binary(min_size=1, max_size=9))
def test_what_cannot_be_read_goes_on_all_the_same_and_once(
    answer: tuple[bytes, bytes, int], cuts: list[int], more: bytes
) -> None:
    ends = BothEnds()
    ends.pieces(b"GET / HTTP/1.1\r\nHost: 127.0.0.1:9\r\n\r\n", [], client=True)
    data = answer[0].replace(b"\r\n\r\n", b"\r\nTransfer-Encoding: chunked\r\n\r\nno size", 1) + more
    ends.pieces(data, cuts, client=False)
    ends.passage.provider_ended(2.0)
    if answer[2] not in NO_BODY:
        assert ends.at_client == data


REQUEST = b"POST /v1/messages HTTP/1.1\r\nHost: 127.0.0.1:9\r\nContent-Length: 2\r\n\r\n{}"


class HeldEnds(BothEnds):
    """Both ends of a request and an answer that are held."""

    def __init__(self) -> None:
        super().__init__()
        self.passage = Passage(Route([PROVIDER], self.told.append, lambda: "x", wants=lambda head: True), self)

    def ask(self, waiting: WaitingRequest) -> None:
        assert waiting.body == b"{}"

    def ask_about_answer(self, decide: DecideAnswer, waiting: WaitingAnswer) -> None:
        assert waiting.body == b"ok"


def test_a_request_passes_if_the_choice_of_those_to_hold_fails_and_that_is_told() -> None:
    def broken(head: Head) -> bool:
        raise RuntimeError("broken")

    ends = BothEnds()
    ends.passage = Passage(Route([PROVIDER], ends.told.append, lambda: "x", wants=broken), ends)
    ends.pieces(REQUEST, [], client=True)
    (decision,) = (event for event in ends.told if isinstance(event, RequestDecided))
    assert ends.at_provider == REQUEST and "RuntimeError: broken" in str(decision.report)


def test_a_complete_answer_that_is_held_outlives_a_connection_that_breaks() -> None:
    async def decide(waiting: WaitingAnswer) -> AnswerVerdict:
        raise AssertionError("the connection's task would call it")

    ends = HeldEnds()
    ends.pieces(REQUEST, [], client=True)
    ends.passage.decided(RequestVerdict(decide_answer=decide), 1.0)
    ends.passage.connected(1.0)
    answer = b"HTTP/1.1 200 Fine\r\nContent-Length: 2\r\n\r\nok"
    ends.passage.provider_data(answer, 2.0)
    ends.passage.provider_ended(3.0, broken=True)
    assert ends.at_client == b"" and not ends.ended
    ends.passage.answer_decided(AnswerVerdict(), 4.0)
    assert ends.at_client == answer and ends.ended
