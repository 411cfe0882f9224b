"""A program that forks from a recorded call: its way there is answered from the record, what comes then is live."""

from __future__ import annotations

from msgspec import Struct, field
from msgspec.structs import replace

from ctxtui.attach.gate import Gate, RequestVerdict, WaitingRequest
from ctxtui.attach.http1 import Head
from ctxtui.core.session import MAIN
from ctxtui.services.attach.forking.recorded_answers import RecordedAnswers
from ctxtui.transcripts.kit.http_exchange.decode import detect_dialect
from ctxtui.transcripts.kit.http_exchange.pair import Exchange, classify_side_call, identify_sender, parse_body


class ForkGate(Struct):
    """Answers from `answers` what says the same as then; all else is decided by `live`. A thread that has said
    something else, or has gone by the fork, is live from there on."""

    live: Gate
    answers: RecordedAnswers
    played: int = 0
    """Requests that were answered from the record."""
    departed: str = ""
    """Where the program left the record before the fork, in words; "" where it did not."""
    reached: bool = False
    """Whether the call that is forked from was answered."""
    _gone: set[str] = field(default_factory=set)
    """Threads that are live."""

    def wants(self, head: Head, url: str) -> bool:
        """Whether it may be answered from the record, or `live` wants it whole."""
        return bool(len(self.answers)) or self.live.wants(head, url)

    async def decide(self, waiting: WaitingRequest) -> RequestVerdict:
        """The recorded answer; else what `live` says."""
        sender = identify_sender(waiting.head.last)
        thread, body = sender.thread or MAIN, parse_body(waiting.body)
        exchange = Exchange(waiting.body, url=waiting.url)
        if not isinstance(body, dict) or not detect_dialect(exchange, body) or thread in self._gone:
            return await self.live.decide(waiting)
        aside = bool(classify_side_call(exchange.path, body))
        found = self.answers.answer(waiting.url, waiting.body)
        if found is not None:
            self.played += 1
            if found.number == self.answers.calls:
                self.reached = True
                self._gone.add(thread)
            told = f"{self.answers.name} call {found.number}" if found.number else self.answers.name
            return RequestVerdict(answer=found.raw, told={"played": told})
        if aside:
            return await self.live.decide(waiting)
        self._gone.add(thread)
        if thread != MAIN or self.departed or self.reached:
            return await self.live.decide(waiting)
        self.departed = f"it departs from the record of {self.answers.name} before {self._fork}: live from here"
        verdict = await self.live.decide(waiting)
        done = verdict.told.get("done")
        return replace(
            verdict, told={**verdict.told, "done": [self.departed, *(done if isinstance(done, list) else [])]}
        )

    @property
    def words(self) -> str:
        """What came of it, for a person."""
        count = "1 request was" if self.played == 1 else f"{self.played:,} requests were"
        told = f"{count} answered from the record of {self.answers.name}"
        if self.departed:
            return f"{told}; {self.departed.partition(':')[0]}, and was live from there"
        return told if self.reached else f"{told}; {self._fork}, the fork, was not asked"

    @property
    def _fork(self) -> str:
        thread = f" of {self.answers.thread}" if self.answers.thread else ""
        return f"call {self.answers.calls}{thread}"
