"""LM Studio's server logs without bodies: how many messages each request had, and the tokens that it came to.

A conversation that goes on has more messages each time; one that has no more than the request before it is another.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from ctxtui.core.call import Call, Fidelity
from ctxtui.core.session import MAIN, CallSeen, Described, Event, Skipped, ThreadSeen
from ctxtui.core.tree import Tree
from ctxtui.core.usage import Usage
from ctxtui.transcripts.kit import file_head
from ctxtui.transcripts.kit.dialogue import Dialogue, Ids
from ctxtui.transcripts.kit.fields import seconds
from ctxtui.transcripts.kit.readers import whole_reader

NAME: Final = "lm studio counts"
_ASKED: Final = re.compile(
    r"^[^\n]{0,40}?(\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d)[^\n]{0,300}?"
    r"Running chat completion on conversation with ([\d,]{1,9}) messages?",
    re.MULTILINE,
)
_TOKENS: Final = re.compile(r"\"?(prompt_tokens|completion_tokens)\"?\s*:\s*([\d,]{1,15})")
_BODY: Final = re.compile(r"Received request: \w+ to \S+(?: with body)?\s*\{")


def sniff(head: bytes, name: str) -> float:
    """How sure it is that `head` begins a log that tells counts alone."""
    text = file_head.text_of_head(head)
    return 0.95 if _ASKED.search(text) and not _BODY.search(text) else 0.0


def _parse(data: bytes, tree: Tree) -> tuple[list[Event], Skipped | None]:
    text = data.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace")
    return [Described(source=NAME, client="LM Studio"), *_calls(text, tree)], None


def _calls(text: str, tree: Tree) -> Iterator[Event]:
    """A call for each request whose tokens are told; a thread for each conversation."""
    ids, talk, before, number = Ids(), None, 0, 0
    asked = list(_ASKED.finditer(text))
    for n, match in enumerate(asked):
        messages = int(match[2].replace(",", "") or 0)
        until = asked[n + 1].start() if n + 1 < len(asked) else len(text)
        told = {name: int(value.replace(",", "") or 0) for name, value in _TOKENS.findall(text, match.end(), until)}
        if "prompt_tokens" not in told:
            yield Skipped(text.count("\n", 0, match.start()) + 1, "a request without prompt_tokens")
            continue
        if talk is None or messages <= before:
            number += 1
            talk = Dialogue(tree, MAIN if number == 1 else f"conversation-{number}", ids)
            if number > 1:
                yield ThreadSeen(talk.thread, f"conversation {number}", MAIN)
        before = messages
        usage = Usage(told["prompt_tokens"], output=told.get("completion_tokens", 0), has_cache=False)
        known = Call("", "", started=seconds(match[1].replace("T", " ")), usage=usage, fidelity=Fidelity.TOTALS)
        seen: CallSeen = talk.answer([], known)
        yield seen
    if talk is not None:
        yield Described(title=f"{len(asked)} requests to a local server")


reader = whole_reader(_parse)
