"""Reads job folders: numbered prompts, responses, tool calls and results, and logs of turns."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from ctxtui.core.call import Call
from ctxtui.core.canonical import Json, dump_text
from ctxtui.core.json_values import as_dict, as_list, as_str
from ctxtui.core.session import Described, Event, Skipped
from ctxtui.core.tree import ROOT, Tree
from ctxtui.transcripts.formats.job_folder import turns as turn_logs
from ctxtui.transcripts.formats.job_folder.prompt import split_prompt
from ctxtui.transcripts.kit import file_head
from ctxtui.transcripts.kit.dialogue import Dialogue
from ctxtui.transcripts.kit.fields import as_dicts
from ctxtui.transcripts.kit.messages import make_message, make_parts
from ctxtui.transcripts.kit.readers import JOB, decode_column, json_reader

NAME: Final = "job folder"
_FILE: Final = re.compile(r"\d+-(prompt|response|tool-calls|tool-results)\.(?:txt|json)\Z")


def sniff(head: bytes, name: str) -> float:
    first = next(iter(file_head.parse_values(head)), None)
    if as_list(first)[:1] == [JOB]:
        return 1.0
    turn = first if isinstance(first, dict) else {}
    # API requests and answers have such token counts too, but these keys.
    if turn.keys() & {"messages", "content", "choices", "role", "type", "object", "requests", "events"}:
        return 0.0
    return 0.8 if turn_logs.is_turn(turn, name) else 0.0


def read_session(value: Json, tree: Tree) -> Iterator[Event]:
    """Read a list of `JOB` and the folder's files, or the log of a single turn."""
    yield Described(source=NAME)
    files = as_dicts(value[1:]) if isinstance(value, list) else [{"name": "turn", "value": value}]
    job = _Job(tree, [as_dict(file.get("value")) for file in files if not _FILE.match(as_str(file.get("name")))])
    for file in files:
        yield from job.add_file(file)
    yield from job.finish()


class _Job:
    """The files of a job.

    `turns` are its logs of turns: the n-th has the figures of the n-th response.
    """

    def __init__(self, tree: Tree, turns: list[dict[str, Json]]) -> None:
        self._dialogue = Dialogue(tree)
        self._turns = turns
        self._call_ids: list[str] = []
        """Ids of the last response's calls."""
        self._prompted = False
        self._answers: list[str] = []
        """The responses so far, which a later prompt may repeat."""

    def add_file(self, entry: dict[str, Json]) -> Iterator[Event]:
        named, value = _FILE.match(as_str(entry.get("name"))), entry.get("value")
        if "trouble" in entry:
            yield Skipped(1, f"{as_str(entry.get('name'))}: {as_str(entry.get('trouble'))}")
        elif named is None:
            pass  # a turn's log, whose figures belong to its response
        elif named[1] == "prompt":
            # Each prompt is the model's whole context.
            self._dialogue.head = ROOT
            for message in split_prompt(as_str(value), self._answers):
                self._dialogue.add(message)
            self._prompted = True
        elif named[1] == "response":
            if not self._prompted:
                yield Skipped(1, f"{as_str(entry.get('name'))}: its prompt is missing")
            yield self._dialogue.add_call(make_message("assistant", as_str(value)), self._make_call())
            self._answers.append(as_str(value))
            self._prompted, self._call_ids = False, []
        elif named[1] == "tool-calls":
            parts = [_convert_call(row, n) for n, row in enumerate(_list_entries(value))]
            self._call_ids = [as_str(part["id"]) for part in parts]
            event = self._dialogue.extend_answer(make_parts("assistant", *parts)) if parts else None
            if event is not None:
                yield event
        else:
            results = [_convert_result(row, n, self._call_ids) for n, row in enumerate(_list_entries(value))]
            self._dialogue.add(make_message("user", *results) if results else [])

    def _make_call(self) -> Call:
        turns = self._turns[self._dialogue.calls :]
        return turn_logs.turn_call(turns[0]) if turns else Call("", "")

    def finish(self) -> Iterator[Event]:
        """Yield the calls of turns that have no response file, then the thread's tip and title."""
        turns = turn_logs.Turns(self._dialogue)
        for turn in filter(None, self._turns[self._dialogue.calls :]):
            yield from turns.add(turn)
        yield self._dialogue.tip_event()
        yield Described(title=self._dialogue.title)


def _list_entries(value: Json) -> list[dict[str, Json]]:
    """The objects of a list; of an object's first list; or the object itself."""
    first_list = next((member for member in as_dict(value).values() if isinstance(member, list)), None)
    rows = value if isinstance(value, list) else first_list if first_list is not None else [value]
    return as_dicts(rows)


def _convert_call(fields: dict[str, Json], number: int) -> dict[str, Json]:
    function = as_dict(fields.get("function"))
    name = (
        as_str(fields.get("name"))
        or as_str(fields.get("tool"))
        or as_str(fields.get("tool_name"))
        or as_str(function.get("name"))
    )
    keys = ("input", "args", "arguments", "parameters", "params")
    recorded_input = next((fields[key] for key in keys if key in fields), function.get("arguments", {}))
    tool_input = decode_column(recorded_input)
    id_ = as_str(fields.get("id")) or as_str(fields.get("call_id")) or f"call_{number}"
    return {
        "type": "tool_use",
        "id": id_,
        "name": name,
        "input": tool_input if isinstance(tool_input, dict) else {"value": recorded_input},
    }


def _convert_result(fields: dict[str, Json], number: int, call_ids: list[str]) -> dict[str, Json]:
    id_ = next((as_str(fields[key]) for key in ("id", "call_id", "tool_call_id", "tool_use_id") if key in fields), "")
    id_ = id_ or (call_ids[number] if number < len(call_ids) else f"call_{number}")
    keys = ("text", "output", "content", "result", "stdout", "error")
    output = next((fields[key] for key in keys if fields.get(key) not in (None, "")), "")
    text = output if isinstance(output, str) else dump_text(output)
    has_error_only = bool(fields.get("error")) and "output" not in fields
    failed = has_error_only or bool(fields.get("is_error")) or fields.get("success") is False
    return {"type": "tool_result", "tool_use_id": id_, "content": text, **({"is_error": True} if failed else {})}


reader = json_reader(read_session)
