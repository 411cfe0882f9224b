"""The log of an evolutionary search's root model (pineapple, mango): its turns, and the trials beside it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ctxtui.core.call import Call
from ctxtui.core.canonical import Json
from ctxtui.core.session import MAIN, Described, Event, Happened, Outcome, ThreadSeen
from ctxtui.core.tree import Tree
from ctxtui.core.usage import Usage
from ctxtui.transcripts.kit import file_head
from ctxtui.transcripts.kit.chat_messages import spoken
from ctxtui.transcripts.kit.dialogue import Dialogue, Ids
from ctxtui.transcripts.kit.fields import count, moment, money, obj, one_line, word
from ctxtui.transcripts.kit.readers import LinesReader
from ctxtui.transcripts.kit.records import FoundObject
from ctxtui.transcripts.kit.tasks import words

NAME: Final = "root llm log"
_TURN: Final = frozenset({"turn", "role", "content"})
_TRIAL: Final = frozenset({"trial_id", "response"})
_CALIBRATION: Final = "[CALIBRATION]"


def sniff(head: bytes, name: str) -> float:
    """How sure it is that `head` begins a log of turns, or a trial."""
    first = next(iter(file_head.records(head)), {})
    if first.keys() >= _TURN and first.keys() & {"code_executed", "execution_result"}:
        return 0.95
    if first.keys() >= _TRIAL and first.keys() & {"generation", "metrics", "code"}:
        return 0.9
    return 0.0


class _Search:
    """What the log and the trials have in common: the tree, the ids, the root's thread."""

    def __init__(self, tree: Tree) -> None:
        self.tree, self.ids = tree, Ids()
        self.threads = {MAIN: Dialogue(tree, MAIN, self.ids)}

    def record(self, value: dict[str, Json], found: FoundObject) -> Iterator[Event]:
        if value.keys() >= _TRIAL:
            yield from self._trial(value, found)
        elif "role" in value:
            yield from self._turn(value, found)
        else:
            yield Happened("record", ", ".join(list(value)[:5]))

    def standing(self) -> Iterator[Event]:
        yield Described(source=NAME, title=self.threads[MAIN].title)
        for dialogue in self.threads.values():
            yield dialogue.tip()

    def _turn(self, value: dict[str, Json], found: FoundObject) -> Iterator[Event]:
        role, content, when = word(value.get("role")), value.get("content"), moment(value.get("timestamp"))
        said = content if isinstance(content, str) else words(content)
        name = "calibration" if said.startswith(_CALIBRATION) else MAIN
        if name not in self.threads:
            self.threads[name] = Dialogue(self.tree, name, self.ids)
            yield ThreadSeen(name, name, MAIN)
        dialogue = self.threads[name]
        if role == "assistant":
            span = (found.start, found.end)
            turn: dict[str, Json] = {"turn": value["turn"]} if "turn" in value else {}
            call = Call("", "", model=word(value.get("model")), ended=when, line=found.line, bytes_=span, extra=turn)
            yield dialogue.answer(spoken("assistant", said), call)
        elif value.get("code_executed") is not None:
            # A note of what ran: its result comes to the model with the next message.
            result = words(value.get("execution_result"))
            yield Happened("code", one_line(f"{words(value['code_executed'])} → {result}"), name, when)
        else:
            dialogue.say(spoken(role or "user", said))

    def _trial(self, value: dict[str, Json], found: FoundObject) -> Iterator[Event]:
        name = words(value.get("trial_id"))
        dialogue = self.threads[name] = Dialogue(self.tree, name, self.ids)
        yield ThreadSeen(name, name, MAIN)
        prompt = value.get("prompt")
        dialogue.say(spoken("user", prompt if isinstance(prompt, str) else words(prompt)))
        cost = obj(value.get("cost_data"))
        known = Call(
            "",
            "",
            model=word(value.get("model")) or word(cost.get("model")),
            ended=moment(value.get("timestamp")),
            usage=_usage(cost),
            extra={key: value[key] for key in ("generation", "parent_id", "metrics") if key in value},
        )
        yield dialogue.answer(spoken("assistant", words(value.get("response"))), known)
        for key in ("score", "valid", "error"):
            found_ = obj(value.get("metrics")).get(key)
            if found_ is not None:
                yield Outcome(f"{name}: {key}", words(found_))


def _usage(cost: dict[str, Json]) -> Usage | None:
    """A trial's own figures, whose input excludes the cache."""
    if "input_tokens" not in cost:
        return None
    read = count(cost.get("cache_read_input_tokens", cost.get("cache_read_tokens")))
    written = count(cost.get("cache_creation_input_tokens", cost.get("cache_creation_tokens")))
    spent = next((money(cost[key]) for key in ("total_cost", "cost", "cost_usd") if key in cost), None)
    return Usage(
        fresh=count(cost.get("input_tokens")),
        cache_read=read,
        write_5m=written,
        output=count(cost.get("output_tokens")),
        has_cache=any(key.startswith("cache_") for key in cost),
        cost=spent,
    )


class RootLogReader(LinesReader):
    """Reads the log or a trial; `part` gives readers for the trials' files."""

    def __init__(self, tree: Tree, search: _Search | None = None) -> None:
        self._search = search or _Search(tree)
        super().__init__(self._search)

    def part(self, name: str) -> RootLogReader:
        """The reader for one trial's file."""
        return RootLogReader(self._search.tree, self._search)


reader = RootLogReader
