"""The policy ``externalize_large``: moves large content out of the context, under a name.

Externalized are programs of a search's trials, fenced code in a message, or a whole result. A line of description
stays, and an agent with the tool ``recall`` gets the content by its name.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from typing import Final

from ctxtui.core.block import ASSISTANT
from ctxtui.core.canonical import Json
from ctxtui.core.edit import Edit
from ctxtui.core.edit_kinds import EXTERNALIZE
from ctxtui.curation.apply.block_text import has_editable_text
from ctxtui.curation.apply.references import safe_name
from ctxtui.curation.context import is_call
from ctxtui.curation.policies.policy import Policy
from ctxtui.curation.policies.policy_context import PolicyContext, Settings, make_edit
from ctxtui.curation.policies.risk import Risk
from ctxtui.curation.policies.tool_results import path_of, tool_of
from ctxtui.curation.trials import Trial, parse_trials

NAME = "externalize_large"
MAX_LINE_CHARS: Final = 100
"""Characters of a result that its description quotes."""

_FENCE: Final = re.compile(r"^(```+)[^\n]*\n(.*?)^\1[ \t]*$\n?", re.MULTILINE | re.DOTALL)
"""Fenced code; group 2 is the code."""
_INDENT: Final = re.compile(r"[ \t]*")
_HEADING: Final = re.compile(r"^#{1,6}\s+(.{1,80})$|^\*\*(.{1,80})\*\*$", re.MULTILINE)


def propose(policy_context: PolicyContext, settings: Settings) -> Iterator[Edit]:
    """Externalize code blocks of `code` characters or more, and results of `size` or more.

    The other lines of a message with such code keep `rest` characters (0: all); the remainder of a line is
    externalized, too, if it has more than 60 characters. The last `keep_last` candidates stay for now.

    If a message lists the trials of a search, each trial keeps its id, validity and score, a reference to its program,
    and the first characters of its `reasoning` and `error`.
    """
    candidates = list(_find_candidates(policy_context, settings))
    yield from candidates[: max(0, len(candidates) - settings["keep_last"])]


def _find_candidates(policy_context: PolicyContext, settings: Settings) -> Iterator[Edit]:
    settings_text = ", ".join(f"{name} {value}" for name, value in sorted(settings.items()) if name != "keep_last")

    def work(length: int, large: list[tuple[int, dict[str, Json]]] | None) -> list[tuple[int, dict[str, Json]]]:
        return [*(large or ()), *_find_large(policy_context, settings, length)]

    for position, payload in policy_context.outline(f"large content: {settings_text}", work):
        if policy_context.may_change(position, NAME):
            yield make_edit(policy_context, NAME, EXTERNALIZE, [position], payload)


def _find_large(policy_context: PolicyContext, settings: Settings, start: int) -> Iterator[tuple[int, dict[str, Json]]]:
    """The blocks from `start` on with content to externalize, each with the edit's payload."""
    context, result_positions = policy_context.context, policy_context.results
    large_results = set(result_positions[bisect_left(result_positions, start) :])
    for position in range(start, len(context)):
        item = context.items[position]
        is_eligible = (
            item.place.section == "messages" and item.place.role not in ASSISTANT and not is_call(item.block.kind)
        )
        if not is_eligible or len(item.block.body) < min(settings["code"], settings["size"]):
            continue
        text = context.reading(position).text
        parts = _trial_parts(text, settings) or list(_message_parts(text, item.block.digest[:6], settings))
        large = position in large_results and len(text) >= settings["size"]
        # Checked last: it encodes the block anew, and most blocks have nothing to externalize.
        if (parts or large) and has_editable_text(item.block):
            yield position, {"parts": parts} if parts else _make_whole_payload(policy_context, position, text)


def _make_whole_payload(policy_context: PolicyContext, position: int, text: str) -> dict[str, Json]:
    path, tool = path_of(policy_context, position), tool_of(policy_context, position)
    digest = policy_context.context.items[position].block.digest[:6]
    description = " ".join(word for word in (tool, path) if word) or "result"
    line = f"({description}, {len(text):,} characters: {_first_chars(text)})"
    return {"name": safe_name(f"{path.rpartition('/')[2] or tool or 'result'}_{digest}"), "line": line}


def _first_chars(text: str) -> str:
    return " ".join(text[: MAX_LINE_CHARS * 3].split())[:MAX_LINE_CHARS]


def _trial_parts(text: str, settings: Settings) -> list[dict[str, Json]]:
    """The parts of a message that lists trials."""
    parts: list[dict[str, Json]] = []
    for trial in parse_trials(text):
        code = trial.code if trial.code and trial.code.stop - trial.code.start >= settings["code"] else None
        if code is None and trial.stop - trial.heading.stop < settings["code"]:
            continue
        indent = _INDENT.match(text, trial.heading.start)
        margin = (indent[0] if indent else "") + ("  " if indent and text[indent.end()] in "-*+" else "")
        text_before, text_after = _trial_text(text, trial, margin, settings)
        notes = f"NOTES_{trial.token}"
        if code is None:
            parts.append({"name": notes, "start": trial.start, "stop": trial.stop, "instead": text_before + text_after})
            continue
        text_before += f"\n{margin}Code reference: "
        parts += [
            {"name": "", "start": trial.start, "stop": code.start, "instead": text_before},
            {"name": trial.token, "start": code.start, "stop": code.stop, "instead": f"{{{{{trial.token}}}}}"},
            {"name": notes, "start": code.stop, "stop": trial.stop, "instead": text_after},
        ]
    return [part for part in parts if part["start"] != part["stop"]]


def _trial_text(text: str, trial: Trial, margin: str, settings: Settings) -> tuple[str, str]:
    heading = text[trial.heading.start : trial.heading.stop].rstrip()
    bare = heading.removesuffix(trial.id + ":")
    validity = {True: " [valid]", False: " [INVALID]", None: ""}[trial.valid]
    lines_before = [(heading if bare == heading else f"{bare}**{trial.id}**") + validity]
    if trial.score is not None:
        lines_before.append(f"{margin}Score: {trial.score:.4f}")
    lines_after = []
    if trial.reasoning:
        short, max_chars = " ".join(trial.reasoning.split()), settings["reasoning"]
        lines_after.append(f"{margin}Approach: " + (short[:max_chars] + "..." if 0 < max_chars < len(short) else short))
    if trial.error:
        lines_after.append(f"{margin}Error: {trial.error[: settings['error'] or None]}")
    return "\n".join(lines_before), "\n".join(["", *lines_after, "", ""])


def _message_parts(text: str, digest: str, settings: Settings) -> Iterator[dict[str, Json]]:
    """The code blocks of a message, and the tails of long lines between them."""
    matches = _FENCE.finditer(text) if "```" in text else ()
    fences = [match for match in matches if len(match[2]) >= settings["code"]]
    if not fences:
        return
    offset = 0
    for number, match in enumerate(fences):
        if settings["rest"]:
            yield from _line_tails(text, offset, match.start(), f"{digest}_{number}", settings["rest"])
        heading = list(_HEADING.finditer(text, offset, match.start()))[-1:]
        name = safe_name(f"{(heading[0][1] or heading[0][2]) if heading else 'code'}_{digest}_{number}")
        yield {
            "name": name,
            "line": f"({match[2].count(chr(10)):,} lines)\n",
            "start": match.start(),
            "stop": match.end(),
        }
        offset = match.end()
    if settings["rest"]:
        yield from _line_tails(text, offset, len(text), f"{digest}_{len(fences)}", settings["rest"])


def _line_tails(text: str, start: int, stop: int, name: str, rest: int) -> Iterator[dict[str, Json]]:
    offset = start
    for number, line in enumerate(text[start:stop].splitlines(keepends=True)):
        length = len(line.rstrip("\n"))
        if length > rest + 60:
            yield {"name": f"rest_{name}_{number}", "line": "", "start": offset + rest, "stop": offset + length}
        offset += len(line)


POLICY = Policy(
    NAME,
    "keep large content outside, under a name",
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
