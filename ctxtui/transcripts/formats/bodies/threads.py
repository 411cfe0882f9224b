"""Requests of one recording sorted into conversations: a thread is what continues itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from ctxtui.core.block import HEADER, Block, Item
from ctxtui.core.block_content import arguments_value, read
from ctxtui.core.call import Call, Epoch, EpochStart, Fidelity
from ctxtui.core.canonical import Json
from ctxtui.core.session import MAIN, CallSeen, Event, ThreadSeen, TipMoved
from ctxtui.core.tree import ROOT, Tree
from ctxtui.transcripts.kit.fields import one_line
from ctxtui.wire.request import Request
from ctxtui.wire.translate.turns import CALL, part_of

LABEL: Final = 60
"""Characters of a thread's first words that make its label."""

_SYSTEM: Final = frozenset({"system", "developer"})


class BodyThread(Struct, kw_only=True):
    """One conversation: its calls in order, and the messages of its last request."""

    number: int
    system: tuple[str, ...] = ()
    said: list[str] = field(default_factory=list)
    label: str = ""
    calls: list[str] = field(default_factory=list)
    tip: int = ROOT
    summed_up: bool = False
    """Whether its next call begins with a summary of what came before."""


def _other_request(told: Call, call: Call) -> bool:
    """Whether two calls of one id are surely two: both requests are here whole, and they differ."""
    return told.fidelity == call.fidelity == Fidelity.WIRE and told.raw_head != call.raw_head


def _digests(items: Sequence[Item]) -> tuple[tuple[str, ...], list[str]]:
    """What tells a conversation: the digests of its system texts, and those of its messages.

    Headers do not count: clients spell one message now as string, now as list (facts §12).
    """
    talk = [i for i in items if i.place.section == "messages" and i.block.kind != HEADER]
    system = [i.block.digest for i in items if i.place.section == "system"]
    lead = next((n for n, i in enumerate(talk) if i.place.role not in _SYSTEM), len(talk))
    said = [i.block.digest for i in talk]
    return (*system, *said[:lead]), said[lead:]


class Talks:
    """The conversations of one recording; the one with most calls is the main thread, the first of equals.

    `last` is the call told last, with its conversation.
    """

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._talks: list[BodyThread] = []
        self._calls: dict[str, Call] = {}
        self._by_first: dict[str, list[BodyThread]] = {}
        self._homes: dict[str, BodyThread] = {}
        self._main: BodyThread | None = None
        self.last: tuple[BodyThread, Call] | None = None

    @property
    def calls(self) -> dict[str, Call]:
        """Every call, by id, as it was told last."""
        return self._calls

    @property
    def title(self) -> str:
        """What the main conversation begins with."""
        return self._main.label if self._main else ""

    def name(self, talk: BodyThread) -> str:
        """The id of a conversation's thread."""
        return MAIN if talk is self._main else f"thread-{talk.number}"

    def find(self, items: Sequence[Item], after: str = "") -> BodyThread:
        """The conversation that a request with `items` goes on with; a new one where it continues none.

        `after` is the call that the request itself says it follows ("" where it says none). Else it continues one
        whose system texts and first message it shares, or, where the system texts changed, most of its messages, or all
        of them with the answer that came to them; of several, the one it shares most with. Where the first message is
        another one by now (its images were taken out, it became a summary), it continues the one whose last answer made
        a call that it holds, or that was made to sum itself up.
        """
        system, said = _digests(items)
        alike = self._by_first.setdefault(said[0] if said else "", [])
        best, shared = self._homes.get(after), -1
        for talk in alike if best is None else ():
            common = _common(talk.said, said)
            goes_on = talk.system == system or common >= max(2, len(talk.said) // 2)
            if common > shared and (goes_on or self._answered(talk, items, said, common)):
                best, shared = talk, common
        if best is None and (best := self._caller(items)) is not None:
            alike.append(best)
        if best is None and (best := self._summed_up(items, system)) is not None:
            best.summed_up = True
            alike.append(best)
        if best is None:
            best = BodyThread(number=len(self._talks) + 1, label=_label(items))
            self._talks.append(best)
            alike.append(best)
            self._main = self._main or best
        best.system, best.said = system, said
        return best

    def _caller(self, items: Sequence[Item]) -> BodyThread | None:
        """The conversation whose last answer made a call that stands in a request, by the provider's id of it."""
        made = {id_ for item in items if (id_ := _call_id(item.block))}
        for talk in reversed(self._talks) if made else ():
            last, tree = self._calls[talk.calls[-1]] if talk.calls else None, self._tree
            if last is not None and tree.holds(last.response_head, last.raw_head):
                answer = (tree[node].block for node in tree.path(last.response_head, last.raw_head))
                if not made.isdisjoint(map(_call_id, answer)):
                    return talk
        return None

    def _summed_up(self, items: Sequence[Item], system: tuple[str, ...]) -> BodyThread | None:
        """The conversation of the call before, where the client made the model use a certain tool and a request under
        the same system texts begins with words of that tool's arguments: so an agent puts a summary in its history's
        place."""
        asked = next((i.block for i in items if i.place.role == "user" and i.block.kind != HEADER), None)
        if self.last is None or asked is None or not system or self.last[0].system != system:
            return None
        talk, call = self.last
        tree = self._tree
        if not _forced(call) or not tree.holds(call.response_head, call.raw_head):
            return None
        words = read(asked).text
        answer = (tree[node].block for node in tree.path(call.response_head, call.raw_head))
        return talk if any(said in words for block in answer for said in _arguments(block)) else None

    def _answered(self, talk: BodyThread, items: Sequence[Item], said: Sequence[str], common: int) -> bool:
        """Whether a request says all that `talk` last said and then what was answered to it, whatever its spelling."""
        if not talk.calls or common < len(talk.said) or len(said) == common:
            return False
        last, tree = self._calls[talk.calls[-1]], self._tree
        next_ = next(item.block for item in items if item.block.digest == said[common])
        nodes = tree.path(last.response_head, last.raw_head)
        answer = {_words(tree[node].block) for node in nodes if tree[node].block.kind != HEADER}
        return _words(next_) in answer - {_NOTHING}

    def own(self, call: Call) -> Call:
        """`call` under an id of its own: stand-ins for a provider answer every request with one id, and what only
        repeats a call is the same request."""
        wanted, number = call.id, 1
        while (told := self._calls.get(call.id)) is not None and _other_request(told, call):
            number += 1
            call = replace(call, id=f"{wanted}#{number}")
        return call

    def add(self, talk: BodyThread, call: Call) -> list[Event]:
        """A call of `talk`; told once, however often it is recorded."""
        if call.id in self._calls:
            return []
        news: list[Event] = []
        before = self._calls[talk.calls[-1]] if talk.calls else None
        if before is None:
            news.append(self._seen(talk))
        else:
            news += self._resent(before, call)
        call = replace(call, thread=self.name(talk), epoch=_epoch(before, call, talk.summed_up))
        talk.summed_up = False
        self._calls[call.id] = call
        self._homes[call.id] = talk
        talk.calls.append(call.id)
        self.last = talk, call
        talk.tip = call.response_head
        return [*news, CallSeen(call), TipMoved(call.thread, talk.tip)]

    def update(self, talk: BodyThread, call: Call) -> list[Event]:
        """A fuller version of a call that was told before."""
        call = replace(call, thread=self.name(talk), epoch=self._calls[call.id].epoch)
        if self._calls[call.id] == call:
            return []
        self._calls[call.id] = call
        talk.tip = call.response_head
        return [CallSeen(call), TipMoved(call.thread, talk.tip)]

    def elect(self) -> list[Event]:
        """Give the main thread to the conversation with most calls; calls whose thread changes are told again."""
        if not self._talks:
            return []
        chosen = max(self._talks, key=lambda talk: (len(talk.calls), -talk.number))
        old, self._main = self._main, chosen
        if chosen is old or old is None:
            return []
        return [event for talk in (chosen, old) for event in self._move(talk)]

    def _move(self, talk: BodyThread) -> list[Event]:
        news: list[Event] = [self._seen(talk)]
        for id_ in talk.calls:
            self._calls[id_] = replace(self._calls[id_], thread=self.name(talk))
            news.append(CallSeen(self._calls[id_]))
        return [*news, TipMoved(self.name(talk), talk.tip)]

    def _seen(self, talk: BodyThread) -> ThreadSeen:
        main = talk is self._main
        return ThreadSeen(self.name(talk), "" if main else talk.label, "" if main else MAIN)

    def _resent(self, before: Call, call: Call) -> list[Event]:
        """The call before, with its answer where the client sent it back: the context then runs through it."""
        tree = self._tree
        answer = [n for n in tree.path(before.response_head, before.raw_head) if tree[n].block.kind != HEADER]
        if not answer or tree.holds(call.raw_head, before.response_head):
            return []
        if not tree.holds(call.raw_head, before.raw_head):
            return []
        sent = [n for n in tree.path(call.raw_head, before.raw_head) if tree[n].block.kind != HEADER]
        if [tree[n].block.digest for n in answer] != [tree[n].block.digest for n in sent[: len(answer)]]:
            return []
        self._calls[before.id] = replace(before, response_head=sent[len(answer) - 1])
        return [CallSeen(self._calls[before.id])]


_NOTHING: Final = ("", "", "")
_MADE: Final = 12
"""Characters from which an id of a call is one that a provider made, and no other conversation has."""


def _call_id(block: Block) -> str:
    """The provider's id of the call that a block is; "" where it is none."""
    if block.kind == HEADER or (part := part_of(block)).what != CALL:
        return ""
    return part.id if len(part.id) >= _MADE else ""


_SAID: Final = 40
"""Characters from which a text that stands in another one was taken from there."""


def _forced(call: Call) -> bool:
    """Whether the client made the model use a certain tool."""
    choice = Request((), call.skeleton).params.get("tool_choice") if call.skeleton is not None else None
    return isinstance(choice, dict) and choice.get("type") in ("tool", "function")


def _arguments(block: Block) -> Iterator[str]:
    """The longer texts among the arguments of the call that a block is."""
    if block.kind == HEADER or part_of(block).what != CALL:
        return
    waiting: list[Json] = [arguments_value(read(block))]
    while waiting:
        value = waiting.pop()
        if isinstance(value, str) and len(value) >= _SAID:
            yield value
        waiting += value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()


def _words(block: Block) -> tuple[str, str, str]:
    """What a block says, apart from ids and whatever else a dialect writes beside it."""
    got = read(block)
    return got.text, got.name, got.arguments


def _common(a: Sequence[str], b: Sequence[str]) -> int:
    n = 0
    for x, y in zip(a, b, strict=False):
        if x != y:
            break
        n += 1
    return n


def _label(items: Sequence[Item]) -> str:
    asked = (i for i in items if i.place.role == "user" and i.block.kind != HEADER)
    return next((words[:LABEL] for i in asked if (words := one_line(read(i.block).text))), "")


def _epoch(before: Call | None, call: Call, summed_up: bool) -> Epoch:
    if before is None:
        return Epoch()
    if summed_up:
        return Epoch(before.epoch.number + 1, EpochStart.COMPACTION)
    if before.model and call.model and before.model != call.model:
        return Epoch(before.epoch.number + 1, EpochStart.MODEL, f"{before.model} → {call.model}")
    return before.epoch
