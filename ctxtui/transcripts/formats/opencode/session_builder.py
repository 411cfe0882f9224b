"""Rebuilds the requests of one OpenCode session as OpenCode does (its ``MessageV2``, 1.18)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from msgspec import Struct

from ctxtui.core import canonical
from ctxtui.core.block import Item
from ctxtui.core.call import COPIED_BY, ESTIMATED_INPUT, MAKER, PAID_ID, Call, EpochStart
from ctxtui.core.canonical import Json
from ctxtui.core.json_values import as_str
from ctxtui.core.session import Event, Happened, Skipped
from ctxtui.core.tree import ROOT
from ctxtui.transcripts.formats.opencode import parts as opencode_parts
from ctxtui.transcripts.formats.opencode.parts import Part
from ctxtui.transcripts.kit.dialogue import Dialogue
from ctxtui.transcripts.kit.fields import as_time, compaction_detail, get_path, one_line
from ctxtui.transcripts.kit.messages import make_message

CLIENT: Final = "opencode"
_ABORTED: Final = "MessageAbortedError"


class OpenCodeMessage(Struct, frozen=True):
    """A recorded message: its `parts`, and everything else in `info`."""

    info: dict[str, Json]
    parts: list[Part]

    @property
    def id(self) -> str:
        return as_str(self.info.get("id"))

    @property
    def is_answer(self) -> bool:
        return self.info.get("role") == "assistant"

    @property
    def created(self) -> float | None:
        return as_time(get_path(self.info, "time", "created"))

    @property
    def is_summary(self) -> bool:
        """Whether it is the complete summary of a compaction, without an error."""
        ended = self.info.get("finish") or get_path(self.info, "time", "completed") is not None
        return self.is_answer and self.info.get("summary") is True and bool(ended) and not self.info.get("error")

    @property
    def marker(self) -> Part | None:
        """The part that asks for a compaction; None if there is none."""
        return next((part for part in self.parts if part.get("type") == "compaction"), None)

    @property
    def is_omitted(self) -> bool:
        """Whether later requests omit it: a failed answer, unless aborted after its first content."""
        if not self.is_answer or not self.info.get("error"):
            return False
        has_content = any(part.get("type") not in ("step-start", "reasoning") for part in self.parts)
        return not (as_str(get_path(self.info, "error", "name")) == _ABORTED and has_content)


class SessionBuilder:
    """Adds the messages of one session to `dialogue`.

    `estimated` are ids of messages with tokens estimated by the program that wrote them; `copied` of those that ctxtui
    copied from another session.
    """

    def __init__(
        self, dialogue: Dialogue, estimated: frozenset[str] = frozenset(), copied: frozenset[str] = frozenset()
    ) -> None:
        self._dialogue = dialogue
        self._estimated = estimated
        self._copied = copied
        self._messages: list[OpenCodeMessage] = []
        self._pruned = 0.0
        """Time (Unix seconds) up to which the context's results are pruned (replaced by a short text)."""
        self._last: OpenCodeMessage | None = None
        """The last message, whose tool call may still run."""

    def add_messages(self, messages: Sequence[OpenCodeMessage]) -> Iterator[Event]:
        """Yield the events of the messages, in their order."""
        moments = [
            prune_time
            for message in messages
            for part in message.parts
            if (prune_time := opencode_parts.pruned_at(part)) is not None
        ]
        self._last = messages[-1] if messages else None
        for message in messages:
            for part in message.parts:
                yield from self._report_unknown(part, message)
            if message.is_answer:
                self._apply_pruning([m for m in moments if m <= (message.created or 0.0)])
                yield from self._add_answer(message)
            else:
                self._add_message(message, 0.0)
            self._messages.append(message)
            if message.is_summary:
                self._dialogue.restart(EpochStart.COMPACTION, compaction_detail(0, 0, CLIENT))
                self._rebuild(message.created or 0.0)
        self._apply_pruning(moments)
        yield self._dialogue.tip_event()

    def _report_unknown(self, part: Part, message: OpenCodeMessage) -> Iterator[Event]:
        if part.get("type") == "retry":
            text = one_line(
                as_str(get_path(part, "error", "data", "message")) or as_str(get_path(part, "error", "name"))
            )
            yield Happened("retry", text, self._dialogue.thread, as_time(get_path(part, "time", "created")))
        elif not opencode_parts.is_known(part):
            yield Skipped(1, f"a part of an unknown kind, {as_str(part.get('type')) or 'none'}, in {message.id}")

    def _apply_pruning(self, prune_times: list[float]) -> None:
        newest = max(prune_times, default=0.0)
        if newest > self._pruned:
            self._pruned = newest
            self._dialogue.restart(EpochStart.MICROCOMPACTION, compaction_detail(0, 0, CLIENT))
            self._rebuild(newest)

    def _rebuild(self, time: float) -> None:
        """Rebuild the context that a request at `time` has, from the messages so far."""
        self._pruned = max(self._pruned, time)
        self._dialogue.head = ROOT
        for message in _kept_messages(self._messages):
            self._add_message(message, self._pruned)

    def _add_message(self, message: OpenCodeMessage, time: float) -> None:
        if message.is_omitted:
            return
        if not message.is_answer:
            parts = [
                converted for part in message.parts if (converted := opencode_parts.convert_user_part(part)) is not None
            ]
            self._dialogue.add(make_message("user", *parts) if parts else [])
            return
        parts = [
            converted for part in message.parts if (converted := opencode_parts.convert_answer_part(part)) is not None
        ]
        if parts:
            self._dialogue.add(make_message("assistant", *parts, mark="summary" if message.is_summary else ""))
        self._dialogue.add(self._result_items(message, message.parts, time))

    def _add_answer(self, message: OpenCodeMessage) -> Iterator[Event]:
        """Add the requests of an answer: one, or in older versions one for each of its steps."""
        if not message.info.get("error") and _is_user_run(message):
            self._add_message(message, self._pruned)
            return
        before = self._dialogue.head
        step: list[Part] = []
        steps = 0
        for part in message.parts:
            if part.get("type") == "step-finish":
                steps += 1
                yield from self._add_step(message, step, part, steps)
                step = []
            else:
                step.append(part)
        if not steps or any(opencode_parts.convert_answer_part(part) is not None for part in step):
            yield from self._add_step(message, step, {} if steps else message.info, steps + 1)
        if message.is_omitted:
            self._dialogue.head = before

    def _add_step(
        self, message: OpenCodeMessage, step: list[Part], figures: dict[str, Json], number: int
    ) -> Iterator[Event]:
        """Add request `number` of a message: its answer, then its tool results."""
        info = message.info
        usage = opencode_parts.usage(figures)
        call_extra = {key: info[key] for key in ("agent", "mode", "variant") if info.get(key)}
        if usage is not None and message.id in self._estimated:
            call_extra[ESTIMATED_INPUT], usage = usage.input, None
        parts = [converted for part in step if (converted := opencode_parts.convert_answer_part(part)) is not None]
        items = make_message("assistant", *parts) if parts else []
        if message.created is not None:
            # A fork is a copy with new ids and the same times.
            digests = [item.block.digest for item in items]
            evidence = [message.created, number, info.get("modelID"), figures.get("tokens"), *digests]
            call_extra[PAID_ID] = "opencode-" + canonical.digest(canonical.dumps(evidence))[:24]
        if message.id in self._copied:
            call_extra[COPIED_BY] = MAKER
        call = Call(
            message.id,
            "",
            provider=as_str(info.get("providerID")),
            model=as_str(info.get("modelID")),
            started=message.created,
            ended=as_time(get_path(info, "time", "completed")),
            usage=usage,
            stop_reason=as_str(figures.get("reason")) or as_str(info.get("finish")),
            error=as_str(get_path(info, "error", "data", "message")) or as_str(get_path(info, "error", "name")),
            extra=call_extra,
        )
        yield self._dialogue.add_call(items, call)
        self._dialogue.add(self._result_items(message, step, self._pruned))

    def _result_items(self, message: OpenCodeMessage, parts: list[Part], time: float) -> list[Item]:
        results = [result for part in parts if (result := self._convert_result(message, part, time)) is not None]
        return make_message("user", *results) if results else []

    def _convert_result(self, message: OpenCodeMessage, part: Part, time: float) -> Json:
        result = opencode_parts.convert_result(part, time)
        # An unfinished call followed by something was interrupted; the last one may still run.
        return opencode_parts.interrupted_result(part) if result is None and message is not self._last else result


def _is_user_run(message: OpenCodeMessage) -> bool:
    """Whether no model wrote an answer: a command or a task that the user started."""
    kinds = [part.get("type") for part in message.parts]
    return bool(kinds) and all(kind == "tool" for kind in kinds) and opencode_parts.usage(message.info) is None


def _kept_messages(messages: Sequence[OpenCodeMessage]) -> list[OpenCodeMessage]:
    """Select the messages that the next request has.

    They are the last compaction's question and summary, kept and later ones; without a compaction, all.
    """
    summary = next((n for n in reversed(range(len(messages))) if messages[n].is_summary), None)
    if summary is None:
        return list(messages)
    later_messages = list(messages[summary + 1 :])
    asked_by = as_str(messages[summary].info.get("parentID"))
    question = next((n for n in range(summary) if messages[n].id == asked_by and messages[n].marker), None)
    if question is None:
        return [messages[summary], *later_messages]
    tail_start = as_str((messages[question].marker or {}).get("tail_start_id"))
    first = next((n for n in range(question) if tail_start and messages[n].id == tail_start), None)
    if first is None:
        # If the tail does not exist, OpenCode finds no end and sends everything.
        return list(messages) if tail_start else [*messages[question : summary + 1], *later_messages]
    return [*messages[question : summary + 1], *messages[first:question], *later_messages]
