"""Reads LM Studio's server logs without bodies: the number and tokens of messages.

A request with more messages than the one before continues its conversation; any other starts a new one. Answers of
``/v1/responses`` are logged in full: one that names an earlier answer continues the conversation of that answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from msgspec.structs import replace

from ctxtui.core.call import Call, Fidelity
from ctxtui.core.session import MAIN, CallSeen, Described, Event, Skipped, ThreadSeen
from ctxtui.core.tree import Tree
from ctxtui.core.usage import Usage
from ctxtui.transcripts.kit import file_head
from ctxtui.transcripts.kit.dialogue import Dialogue, Ids
from ctxtui.transcripts.kit.fields import parse_timestamp
from ctxtui.transcripts.kit.readers import whole_reader

NAME: Final = "lm studio counts"
_HEAD: Final = r"^[^\n]{0,40}?(\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d)[^\n]{0,300}?"
_REQUEST_LINE: Final = re.compile(
    _HEAD + r"Running chat completion on conversation with ([\d,]{1,9}) messages?", re.MULTILINE
)
_ANSWER_LINE: Final = re.compile(_HEAD + r"Generated [\w-]+ \S+ response:[ \t]*\n?(?=\{)", re.MULTILINE)
_TOKENS: Final = re.compile(
    r"\"?(prompt_tokens|completion_tokens|input_tokens|output_tokens|cached_tokens)\"?\s*:\s*([\d,]{1,15})"
)
_IDS: Final = re.compile(r"\"(id|previous_response_id)\"\s*:\s*\"([^\"\s]{1,200})\"")
_MODEL: Final = re.compile(r"\[(?!(?:TRACE|DEBUG|INFO|WARN|WARNING|ERROR)\])([A-Za-z][^\]\s]*)\]")
"""A tag in a line that is no log level: the model."""
_BODY: Final = re.compile(r"Received request: \w+ to \S+(?: with body)?\s*\{")
"""A request logged with its body: the format `lm_studio`."""


def sniff(head: bytes, name: str) -> float:
    text = file_head.decode_head(head)
    match = _REQUEST_LINE.search(text) or _ANSWER_LINE.search(text)
    return 0.95 if match and not _BODY.search(text) else 0.0


def _parse(data: bytes, tree: Tree) -> tuple[list[Event], Skipped | None]:
    text = data.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace")
    return [Described(source=NAME, client="LM Studio"), *_iter_calls(text, tree)], None


def _iter_calls(text: str, tree: Tree) -> Iterator[Event]:
    """Yield a call for each request with recorded tokens; a thread for each conversation."""
    ids, dialogue, before, number = Ids(), None, 0, 0
    by_answer: dict[str, Dialogue] = {}
    requests = list(_find_requests(text))
    for n, match in enumerate(requests):
        messages = int(match[2].replace(",", "") or 0) if match.re is _REQUEST_LINE else 0
        end = requests[n + 1].start() if n + 1 < len(requests) else len(text)
        figures = {name: int(value.replace(",", "") or 0) for name, value in _TOKENS.findall(text, match.end(), end)}
        input_tokens, output_tokens = (
            next((figures[name] for name in names if name in figures), None)
            for names in (("prompt_tokens", "input_tokens"), ("completion_tokens", "output_tokens"))
        )
        if input_tokens is None:
            yield Skipped(text.count("\n", 0, match.start()) + 1, "a request without token counts (prompt_tokens)")
            continue
        answer = _ANSWER_LINE.search(text, match.start(), end)
        # The first of equal keys counts: the answer's own id.
        answer_ids = dict(reversed(_IDS.findall(text, answer.end(), end))) if answer else {}
        earlier = by_answer.get(answer_ids.get("previous_response_id", ""))
        if earlier is not None:
            dialogue = earlier
        elif dialogue is None or messages <= before:
            number += 1
            dialogue = Dialogue(tree, MAIN if number == 1 else f"conversation-{number}", ids)
            if number > 1:
                yield ThreadSeen(dialogue.thread, f"conversation {number}", MAIN)
        before = messages
        if "id" in answer_ids:
            by_answer[answer_ids["id"]] = dialogue
        cached = figures.get("cached_tokens")
        usage = Usage(
            max(0, input_tokens - (cached or 0)),
            min(cached or 0, input_tokens),
            output=output_tokens or 0,
            has_cache=cached is not None,
        )
        ended = parse_timestamp(answer[1].replace("T", " ")) if answer else None
        started = parse_timestamp(match[1].replace("T", " ")) if match.re is _REQUEST_LINE else None
        line = match[0] + text[match.end() : end].partition("\n")[0]
        # The model's tag comes before "Running".
        model = _MODEL.search(line[: line.find(" R")] if " R" in line else line)
        call = Call("", "", model=model[1] if model else "", started=started, ended=ended, usage=usage)
        event: CallSeen = dialogue.add_call([], replace(call, fidelity=Fidelity.TOTALS))
        yield event
    if dialogue is not None:
        yield Described(title=f"{len(requests)} request{'s' * (len(requests) > 1)} to a local server")


def _find_requests(text: str) -> Iterator[re.Match[str]]:
    """Yield the start of each request: its ``Running chat completion`` line, else its answer."""
    has_open_request = False
    every = [*_REQUEST_LINE.finditer(text), *_ANSWER_LINE.finditer(text)]
    for request_match in sorted(every, key=lambda match: match.start()):
        if request_match.re is _REQUEST_LINE or not has_open_request:
            yield request_match
        has_open_request = request_match.re is _REQUEST_LINE


reader = whole_reader(_parse)
