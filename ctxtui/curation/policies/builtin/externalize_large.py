"""Large content stands outside under a name: programs of trials, fenced code in a message, or a whole result; one line
says what it is."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from typing import Final

from ctxtui.core.canonical import Json
from ctxtui.core.edit import Edit
from ctxtui.core.edit_kinds import EXTERNALIZE
from ctxtui.curation.apply.block_text import has_words
from ctxtui.curation.apply.references import safe_name
from ctxtui.curation.context import ASSISTANT, is_call
from ctxtui.curation.policies.policy import Policy
from ctxtui.curation.policies.risk import Risk
from ctxtui.curation.policies.situation import PolicyContext, Settings, edit
from ctxtui.curation.policies.tool_results import path_of, results, tool_of
from ctxtui.curation.trials import Trial, trials

NAME = "externalize_large"
LINE: Final = 100

_FENCE: Final = re.compile(r"^(```+)[^\n]*\n(.*?)^\1[ \t]*$\n?", re.MULTILINE | re.DOTALL)
_INDENT: Final = re.compile(r"[ \t]*")
_HEADING: Final = re.compile(r"^#{1,6}\s+(.{1,80})$|^\*\*(.{1,80})\*\*$", re.MULTILINE)


def propose(situation: PolicyContext, settings: Settings) -> Iterator[Edit]:
    """Externalise code blocks of `code` characters or more, and what of the words around them is longer than `rest`
    (0: all of it stays); results of `size` characters or more as a whole. The last `keep_last` of them stay for now.

    Where a message lists the trials of a search, each with its program, a trial keeps its id, validity, score, a
    reference to the program as such loops spell it, and the first characters of its `reasoning` and `error`.
    """
    found = list(_candidates(situation, settings))
    yield from found[: max(0, len(found) - settings["keep_last"])]


def _candidates(situation: PolicyContext, settings: Settings) -> Iterator[Edit]:
    said = ", ".join(f"{name} {value}" for name, value in sorted(settings.items()) if name != "keep_last")

    def work(length: int, found: list[tuple[int, dict[str, Json]]] | None) -> list[tuple[int, dict[str, Json]]]:
        return [*(found or ()), *_large(situation, settings, length)]

    for position, what in situation.outline(f"large content: {said}", work):
        if situation.free(position, NAME):
            yield edit(situation, NAME, EXTERNALIZE, [position], what)


def _large(situation: PolicyContext, settings: Settings, start: int) -> Iterator[tuple[int, dict[str, Json]]]:
    """The blocks from the position `start` on that hold what would go, with what the edit says."""
    context, found = situation.context, results(situation)
    whole = set(found[bisect_left(found, start) :])
    for position in range(start, len(context)):
        item = context.items[position]
        own = item.place.section == "messages" and item.place.role not in ASSISTANT and not is_call(item.block.kind)
        if not own or len(item.block.body) < min(settings["code"], settings["size"]):
            continue
        text = context.reading(position).text
        parts = _trial_parts(text, settings) or list(_parts(text, item.block.digest[:6], settings))
        large = position in whole and len(text) >= settings["size"]
        # Asked last: it spells the block anew, and most blocks hold nothing that would go.
        if (parts or large) and has_words(item.block):
            yield position, {"parts": parts} if parts else _named(situation, position, text)


def _named(situation: PolicyContext, position: int, text: str) -> dict[str, Json]:
    path, tool = path_of(situation, position), tool_of(situation, position)
    digest = situation.context.items[position].block.digest[:6]
    what = " ".join(word for word in (tool, path) if word) or "result"
    line = f"({what}, {len(text):,} characters: {_first(text)})"
    return {"name": safe_name(f"{path.rpartition('/')[2] or tool or 'result'}_{digest}"), "line": line}


def _first(text: str) -> str:
    return " ".join(text[: LINE * 3].split())[:LINE]


def _trial_parts(text: str, settings: Settings) -> list[dict[str, Json]]:
    """The stretches of a message that lists trials: of each its heading, its program, and what is told of it."""
    made: list[dict[str, Json]] = []
    for one in trials(text):
        code = one.code if one.code and one.code.stop - one.code.start >= settings["code"] else None
        if code is None and one.stop - one.heading.stop < settings["code"]:
            continue
        indent = _INDENT.match(text, one.heading.start)
        margin = (indent[0] if indent else "") + ("  " if indent and text[indent.end()] in "-*+" else "")
        above, below = _written(text, one, margin, settings)
        notes = f"NOTES_{one.token}"
        if code is None:
            made.append({"name": notes, "start": one.start, "stop": one.stop, "instead": above + below})
            continue
        above += f"\n{margin}Code reference: "
        made += [
            {"name": "", "start": one.start, "stop": code.start, "instead": above},
            {"name": one.token, "start": code.start, "stop": code.stop, "instead": f"{{{{{one.token}}}}}"},
            {"name": notes, "start": code.stop, "stop": one.stop, "instead": below},
        ]
    return [part for part in made if part["start"] != part["stop"]]


def _written(text: str, one: Trial, margin: str, settings: Settings) -> tuple[str, str]:
    """What stands before and behind the reference to a trial's program."""
    heading = text[one.heading.start : one.heading.stop].rstrip()
    bare = heading.removesuffix(one.id + ":")
    said = {True: " [valid]", False: " [INVALID]", None: ""}[one.valid]
    above = [(heading if bare == heading else f"{bare}**{one.id}**") + said]
    if one.score is not None:
        above.append(f"{margin}Score: {one.score:.4f}")
    below = []
    if one.reasoning:
        short, whole = " ".join(one.reasoning.split()), settings["reasoning"]
        below.append(f"{margin}Approach: " + (short[:whole] + "..." if 0 < whole < len(short) else short))
    if one.error:
        below.append(f"{margin}Error: {one.error[: settings['error'] or None]}")
    return "\n".join(above), "\n".join(["", *below, "", ""])


def _parts(text: str, digest: str, settings: Settings) -> Iterator[dict[str, Json]]:
    """The stretches of a message that go: its code blocks, and the tails of long paragraphs between them."""
    found = _FENCE.finditer(text) if "```" in text else ()
    fences = [match for match in found if len(match[2]) >= settings["code"]]
    if not fences:
        return
    at = 0
    for number, match in enumerate(fences):
        if settings["rest"]:
            yield from _tails(text, at, match.start(), f"{digest}_{number}", settings["rest"])
        heading = list(_HEADING.finditer(text, at, match.start()))[-1:]
        name = safe_name(f"{(heading[0][1] or heading[0][2]) if heading else 'code'}_{digest}_{number}")
        yield {
            "name": name,
            "line": f"({match[2].count(chr(10)):,} lines)\n",
            "start": match.start(),
            "stop": match.end(),
        }
        at = match.end()
    if settings["rest"]:
        yield from _tails(text, at, len(text), f"{digest}_{len(fences)}", settings["rest"])


def _tails(text: str, start: int, stop: int, name: str, rest: int) -> Iterator[dict[str, Json]]:
    at = start
    for number, line in enumerate(text[start:stop].splitlines(keepends=True)):
        words = line.rstrip("\n")
        if len(words) > rest + 60:
            yield {"name": f"rest_{name}_{number}", "line": "", "start": at + rest, "stop": at + len(words)}
        at += len(line)


POLICY = Policy(
    NAME,
    "put large content outside under a name",
    propose,
    {"code": 400, "size": 8_000, "rest": 0, "reasoning": 150, "error": 100, "keep_last": 0},
    {
        "code": "characters from which a code block goes",
        "size": "characters from which a result goes",
        "rest": "characters kept of each other line beside such code (0: all)",
        "reasoning": "characters kept of a trial's reasoning (0: all)",
        "error": "characters kept of a trial's error (0: all)",
        "keep_last": "newest ones left whole",
    },
    least=Risk.OUTSIDE,
)
