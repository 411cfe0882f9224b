"""Job folders (Pedroceli's: numbered prompts, responses, tool calls and results) and logs of single turns (LLuMa's)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from ctxtui.core.call import Call
from ctxtui.core.canonical import Json, dump_text
from ctxtui.core.session import Described, Event, Skipped
from ctxtui.core.tree import Tree
from ctxtui.transcripts.formats.job_folder import turns as turn_logs
from ctxtui.transcripts.formats.job_folder.prompt import split_prompt
from ctxtui.transcripts.kit import file_head
from ctxtui.transcripts.kit.dialogue import Dialogue
from ctxtui.transcripts.kit.fields import as_dict, as_list, as_str
from ctxtui.transcripts.kit.messages import make_message, make_parts
from ctxtui.transcripts.kit.readers import JOB, json_reader

NAME: Final = "job folder"
_FILE: Final = re.compile(r"(\d+)-(prompt|response|tool-calls|tool-results)\.(?:txt|json)\Z")
_ORDER: Final = ("prompt", "response", "tool-calls", "tool-results")


def sniff(head: bytes, name: str) -> float:
    """Confidence that `head` begins a folder's files, or the log of a turn."""
    first = next(iter(file_head.parse_values(head)), None)
    if as_list(first)[:1] == [JOB]:
        return 1.0
    turn = first if isinstance(first, dict) else {}
    # API requests and answers have similar figures.
    if turn.keys() & {"messages", "content", "choices", "role", "type", "object", "requests", "events"}:
        return 0.0
    return 0.8 if turn_logs.is_turn(turn, name) else 0.0


def read_session(value: Json, tree: Tree) -> Iterator[Event]:
    """Yield the events of a folder's files, or of one turn's log."""
    yield Described(source=NAME)
    files = (
        [as_dict(one) for one in as_list(value)[1:]] if isinstance(value, list) else [{"name": "turn", "value": value}]
    )
    job = _Job(tree, [as_dict(one.get("value")) for one in files if not _FILE.match(as_str(one.get("name")))])
    for found in sorted(files, key=_place):
        yield from job.file(found)
    yield from job.end()


def _place(found: dict[str, Json]) -> tuple[int, int]:
    """Sort key of a file: its number, then prompt before response."""
    named = _FILE.match(as_str(found.get("name")))
    return (int(named[1]), _ORDER.index(named[2])) if named else (1 << 62, 0)


class _Job:
    """The files of a job. `turns` are the logs of its turns, in order: one for each response."""

    def __init__(self, tree: Tree, turns: list[dict[str, Json]]) -> None:
        self._talk = Dialogue(tree)
        self._turns = turns
        self._asked: list[str] = []
        """Ids of the last response's calls."""
        self._prompted = False
        self._answers: list[str] = []

    def file(self, found: dict[str, Json]) -> Iterator[Event]:
        """Add the next file."""
        named, value = _FILE.match(as_str(found.get("name"))), found.get("value")
        if "trouble" in found:
            yield Skipped(1, f"{as_str(found.get('name'))}: {as_str(found.get('trouble'))}")
        elif named is None:
            pass  # a turn's log, whose figures belong to its response
        elif named[2] == "prompt":
            # Each prompt is the model's whole context.
            self._talk.head = 0
            for message in split_prompt(as_str(value), self._answers):
                self._talk.say(message)
            self._prompted = True
        elif named[2] == "response":
            if not self._prompted:
                yield Skipped(1, f"{as_str(found.get('name'))}: its prompt is missing")
            yield self._talk.answer(make_message("assistant", as_str(value)), self._known())
            self._answers.append(as_str(value))
            self._prompted, self._asked = False, []
        elif named[2] == "tool-calls":
            parts = [_call(one, n) for n, one in enumerate(_objects(value))]
            self._asked = [as_str(part["id"]) for part in parts]
            seen = self._talk.go_on(make_parts("assistant", *parts)) if parts else None
            if seen is not None:
                yield seen
        else:
            results = [_result(one, n, self._asked) for n, one in enumerate(_objects(value))]
            self._talk.say(make_message("user", *results) if results else [])

    def _known(self) -> Call:
        """Build the next call from the log of its turn."""
        return (
            turn_logs.turn_call(self._turns[self._talk.calls]) if self._talk.calls < len(self._turns) else Call("", "")
        )

    def end(self) -> Iterator[Event]:
        """Add the turns without a response in the folder, and the final state."""
        turns = turn_logs.Turns(self._talk)
        for turn in self._turns[self._talk.calls :]:
            yield from turns.take(turn)
        yield self._talk.tip()
        yield Described(title=self._talk.title)


def _objects(value: Json) -> list[dict[str, Json]]:
    """Entries of a file of calls or results: a list, or the list inside an object."""
    inner = next((found for found in as_dict(value).values() if isinstance(found, list)), None)
    rows = value if isinstance(value, list) else inner if inner is not None else [value]
    return [as_dict(one) for one in rows if isinstance(one, dict)]


def _call(one: dict[str, Json], number: int) -> dict[str, Json]:
    function = as_dict(one.get("function"))
    name = (
        as_str(one.get("name"))
        or as_str(one.get("tool"))
        or as_str(one.get("tool_name"))
        or as_str(function.get("name"))
    )
    keys = ("input", "args", "arguments", "parameters", "params")
    given = next((one[key] for key in keys if key in one), function.get("arguments", {}))
    id_ = as_str(one.get("id")) or as_str(one.get("call_id")) or f"call_{number}"
    return {
        "type": "tool_use",
        "id": id_,
        "name": name,
        "input": given if isinstance(given, dict) else {"value": given},
    }


def _result(one: dict[str, Json], number: int, asked: list[str]) -> dict[str, Json]:
    id_ = next((as_str(one[key]) for key in ("id", "call_id", "tool_call_id", "tool_use_id") if key in one), "")
    id_ = id_ or (asked[number] if number < len(asked) else f"call_{number}")
    keys = ("text", "output", "content", "result", "stdout", "error")
    said = next((one[key] for key in keys if one.get(key) not in (None, "")), "")
    text = said if isinstance(said, str) else dump_text(said)
    wrong = bool(one.get("error")) and "output" not in one
    failed = wrong or bool(one.get("is_error")) or one.get("success") is False
    return {"type": "tool_result", "tool_use_id": id_, "content": text, **({"is_error": True} if failed else {})}


reader = json_reader(read_session)
