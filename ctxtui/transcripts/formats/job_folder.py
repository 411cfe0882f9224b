"""The folder of a job, whoever wrote it: rounds as ``NNN-prompt.txt``, ``NNN-response.txt``, ``NNN-tool-calls.json``,
``NNN-tool-results.json`` (``ctxtui run --log-dir``, Pedroceli), or a log a turn that only counts (LLuMa)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from ctxtui.core import canonical
from ctxtui.core.block import Item
from ctxtui.core.call import Call, Fidelity
from ctxtui.core.canonical import Json
from ctxtui.core.session import Described, Event, Skipped
from ctxtui.core.tree import ROOT, Tree
from ctxtui.core.usage import Usage
from ctxtui.transcripts.kit import chat_messages, file_head
from ctxtui.transcripts.kit.dialogue import Dialogue
from ctxtui.transcripts.kit.fields import count, moment, money, obj, objects, word
from ctxtui.transcripts.kit.rows import JOB
from ctxtui.transcripts.kit.whole_file import json_reader

NAME: Final = "job folder"
_ROUND: Final = re.compile(r"0*(\d+)-([\w-]+)\.\w+")
_SECTION: Final = re.compile(r"^(?==== )", re.MULTILINE)
"""Where a prompt's sections begin (``=== Previous Work Summary ===``): each is a block of its own, so that what stays
the same from prompt to prompt is seen."""

_TALK: Final = "=== messages\n"
_ROLE: Final = re.compile(r"\n--- (system|developer|user|assistant|tool)\n")
"""How ``ctxtui run --log-dir`` writes the messages of a prompt."""
_FRAME: Final = re.compile(r"(?:=== \w+|--- \w+|\[(?:tool_call|tool_use|function_call)\b.*)")
"""Lines of a response that are none of its words: whose it is, and calls, which stand in a file of their own."""
_JSON: Final = ("tool-calls", "tool-results", "turn")
_FIGURES: Final = ("composition", "summarizations")

Round = dict[str, Json]
"""What is known of a round, by the kind of its file."""


def sniff(head: bytes, name: str) -> float:
    """How sure it is that `head` begins such a folder, as the edge hands it over."""
    first = next(iter(file_head.values(head)), None)
    return 0.99 if isinstance(first, list) and first[:1] == [JOB] else 0.0


def take(value: Json, tree: Tree) -> Iterator[Event]:
    """The events of a folder: its files with their names, in order, behind `JOB`."""
    dialogue = Dialogue(tree)
    yield Described(source=NAME)
    rounds: dict[int, Round] = {}
    for number, file in enumerate(objects(value), 1):
        name, told = word(file.get("name")), file.get("text")
        found = _ROUND.fullmatch(name)
        if found is None:
            yield from _counted(dialogue, number, name, told)
        else:
            rounds.setdefault(int(found[1]), {})[found[2]] = told
    for number, one in sorted(rounds.items()):
        yield from _round(dialogue, number, one)
    yield Described(title=dialogue.title)
    yield dialogue.tip()


def _round(dialogue: Dialogue, number: int, one: Round) -> Iterator[Event]:
    calls, results, turn = (_parsed(one.get(kind)) for kind in _JSON)
    for kind in _JSON:
        if kind in one and _parsed(one[kind]) is None:
            yield Skipped(number, f"no JSON: {number:03}-{kind}.json")
    dialogue.head = ROOT
    dialogue.say(_asked(word(one.get("prompt"))))
    yield dialogue.answer(_answer(word(one.get("response")), objects(calls)), _known(f"round-{number}", obj(turn)))
    dialogue.say([item for result in objects(results) for item in _result(result)])


def _asked(prompt: str) -> list[Item]:
    """A prompt as messages, where it says which they are; else one of the user's, by sections."""
    lead, told, talk = prompt.partition(_TALK)
    if not told:
        return chat_messages.spoken("user", *(part for part in _SECTION.split(prompt) if part.strip()))
    parts = _ROLE.split(f"\n{talk}")[1:]
    system = lead.partition("=== system\n")[2].partition("\n=== ")[0]
    said = [*([("system", system)] if system else ()), *zip(parts[::2], parts[1::2], strict=True)]
    return [item for role, text in said for item in chat_messages.spoken(role, text.strip("\n"))]


def _answer(response: str, calls: list[dict[str, Json]]) -> list[Item]:
    """The answer with its calls."""
    made = []
    for n, call in enumerate(calls):
        given = call.get("input", call.get("arguments", call.get("args", {})))
        spelled = given if isinstance(given, str) else canonical.text_of(given)
        name = word(call.get("name")) or word(call.get("tool"))
        function: dict[str, Json] = {"name": name, "arguments": spelled}
        made.append({"id": word(call.get("id")) or f"call_{n}", "type": "function", "function": function})
    kept = [line for line in response.splitlines() if not _FRAME.fullmatch(line)]
    message: dict[str, Json] = {"role": "assistant", "content": "\n".join(kept).strip()}
    return chat_messages.items(message | ({"tool_calls": made} if made else {}))


def _result(result: dict[str, Json]) -> list[Item]:
    told = next((result[key] for key in ("text", "content", "output", "result", "error") if key in result), "")
    words = told if isinstance(told, str) else canonical.text_of(told)
    named = word(result.get("id")) or word(result.get("tool_call_id"))
    return chat_messages.items({"role": "tool", "content": words} | ({"tool_call_id": named} if named else {}))


def _counted(dialogue: Dialogue, number: int, name: str, told: Json) -> Iterator[Event]:
    """The log of a turn that holds figures alone."""
    turn = obj(_parsed(told))
    if not turn:
        yield Skipped(number, f"no JSON: {name}")
        return
    known = _known(word(turn.get("turn_id")) or name, turn)
    dialogue.title = dialogue.title or "turns, by their figures"
    extra: dict[str, Json] = {key: turn[key] for key in _FIGURES if key in turn}
    yield dialogue.answer([], replace(known, fidelity=Fidelity.TOTALS, extra=extra), ROOT)


def _known(id_: str, turn: dict[str, Json]) -> Call:
    when = moment(turn.get("time", turn.get("timestamp")))
    usage = _usage(obj(turn.get("usage")), money(turn.get("cost_usd")))
    return Call(id_, "", model=word(turn.get("model")), provider=word(turn.get("provider")), started=when, usage=usage)


def _usage(used: dict[str, Json], cost: float | None) -> Usage | None:
    """Figures in our words (`input` is all of it) or in those of Anthropic's API (without the cache)."""
    if "input" in used:
        read, written = count(used.get("cache_read")), count(used.get("cache_write"))
        fresh = max(0, count(used.get("input")) - read - written)
        return Usage(
            fresh=fresh, cache_read=read, write_5m=written, output=count(used.get("output")), has_cache=True, cost=cost
        )
    if "input_tokens" not in used:
        return None
    return Usage(
        fresh=count(used.get("input_tokens")),
        cache_read=count(used.get("cache_read_input_tokens")),
        write_5m=count(used.get("cache_creation_input_tokens")),
        output=count(used.get("output_tokens")),
        has_cache=any(key.startswith("cache_") for key in used),
        cost=cost,
    )


def _parsed(text: Json) -> Json:
    """The JSON in a file; None where it is none."""
    try:
        return canonical.loads(text) if isinstance(text, str) else None
    except (ValueError, RecursionError):
        return None


reader = json_reader(take)
