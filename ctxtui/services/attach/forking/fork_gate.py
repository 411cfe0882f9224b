"""A gate that answers requests from a recording up to the fork, the call to continue from.

Later requests are live: they are sent to the provider. A relay asks its gate what to do with each request.
"""

from __future__ import annotations

from msgspec import Struct, field
from msgspec.structs import replace

from ctxtui.attach.gate import Gate, RequestVerdict, WaitingRequest
from ctxtui.attach.http1 import Head
from ctxtui.core.canonical import Json
from ctxtui.core.session import MAIN
from ctxtui.services.attach.forking.recorded_answers import RecordedAnswers
from ctxtui.transcripts.kit.http_exchange.decode import detect_dialect
from ctxtui.transcripts.kit.http_exchange.pair import Exchange, classify_side_call, identify_sender, parse_body


class ForkGate(Struct):
    """Answers requests whose messages match the recording from `answers`.

    `live` decides on all others. A thread becomes live when it sends other messages; the forked one also when the
    call at the fork was answered.
    """

    live: Gate
    answers: RecordedAnswers
    played: int = 0
    departure: str = ""
    """Message about a program whose main thread differs from the recording before the fork; "" otherwise."""
    reached: bool = False
    """Whether the call at the fork was answered from the recording."""
    _live_threads: set[str] = field(default_factory=set)

    def wants(self, head: Head) -> bool:
        """Whether the request may be answered from the recording, or `live` needs it whole."""
        return bool(len(self.answers)) or self.live.wants(head)

    async def decide(self, waiting: WaitingRequest) -> RequestVerdict:
        """Answer with the recorded answer, or else as `live` decides."""
        sender = identify_sender(waiting.head.last)
        thread, body = sender.thread or MAIN, parse_body(waiting.body)
        exchange = Exchange(waiting.body, url=waiting.url)
        if not isinstance(body, dict) or not detect_dialect(exchange, body) or thread in self._live_threads:
            return await self.live.decide(waiting)
        is_side_call = bool(classify_side_call(exchange.path, body))
        recorded = self.answers.take_answer(waiting.url, waiting.body)
        if recorded is not None:
            self.played += 1
            if recorded.number == self.answers.calls:
                self.reached = True
                self._live_threads.add(thread)
            source = f"{self.answers.name} call {recorded.number}" if recorded.number else self.answers.name
            return RequestVerdict(answer=recorded.raw, report={"played": source})
        if is_side_call:
            return await self.live.decide(waiting)
        self._live_threads.add(thread)
        if thread != MAIN or self.departure or self.reached:
            return await self.live.decide(waiting)
        self.departure = f"the program differs from the recording {self.answers.name} before {self._fork}"
        verdict = await self.live.decide(waiting)
        done = verdict.report.get("done")
        lines: list[Json] = [f"{self.departure}: live from here", *(done if isinstance(done, list) else [])]
        return replace(verdict, report={**verdict.report, "done": lines})

    @property
    def summary(self) -> str:
        """A line for the user: requests answered from the recording, and where that ended."""
        count = "1 request was" if self.played == 1 else f"{self.played:,} requests were"
        text = f"{count} answered from the recording {self.answers.name}"
        if self.departure:
            return f"{text}; {self.departure}, and was live from there"
        return text if self.reached else f"{text}; the program ended before {self._fork}, the fork"

    @property
    def _fork(self) -> str:
        thread = f" of {self.answers.thread}" if self.answers.thread else ""
        return f"call {self.answers.calls}{thread}"
