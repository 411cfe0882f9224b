"""Parses the trials listed in a message of an evolutionary search, in many spellings.

A *trial* is one program that the search tried, with score, validity, reasoning and error. Messages list them with or
without fences, as headings or as a list, with metrics as JSON or as printed by Python. Three policies use it
(`externalize_large`, `generation_window`, `tabulate_trials`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from msgspec import Struct

_KINDS: Final = "trial|candidate|individual|child|program|solution|variant|attempt"
"""Words that name a trial in a heading."""
HEADING: Final = re.compile(
    rf"^(?P<lead>[ \t]*(?:#{{1,6}}[ \t]+|[-*+][ \t]+|\d{{1,3}}[.)][ \t]+)?)(?P<bold>\*\*|`)?"
    rf"(?P<id>(?P<kind>{_KINDS})[ _#:-]{{0,2}}(?P<number>\d+(?:[_.-]\d+)*))(?:\*\*|`)?(?P<rest>[^\n]*)$",
    re.IGNORECASE | re.MULTILINE,
)

_KEYS: Final = {
    "code": ("code", "program", "source", "source code", "implementation"),
    "metrics": ("metrics", "results", "result", "evaluation", "scores"),
    "score": ("score", "fitness"),
    "valid": ("status", "valid", "success"),
    "error": ("error", "errors", "failure", "exception"),
    "reasoning": ("reasoning", "approach", "rationale", "explanation", "thoughts", "hypothesis", "idea"),
}
"""Names of a trial's fields."""
_NAMES: Final = {name: field for field, names in _KEYS.items() for name in names}
_FIELD: Final = re.compile(
    rf"^(?P<indent>[ \t]*)(?:[-*+][ \t]+)?(?:\*\*|__)?(?P<key>{'|'.join(sorted(_NAMES, key=len, reverse=True))})"
    r"(?:\*\*|__)?[ \t]*:(?:\*\*|__)?[ \t]*",
    re.IGNORECASE | re.MULTILINE,
)
_FENCE: Final = re.compile(
    r"^(?:[ \t]*(?:[-*+][ \t]+)?[*_]{0,2}[A-Za-z][\w ]{0,20}[*_]{0,2}:[*_]{0,2})?[ \t]*(```+)[^\n`]*\n"
    r"(?P<code>(?:(?![^\n]*```\w)[^\n]*\n)*?)[ \t]*\1[ \t]*$\n?",
    re.MULTILINE,
)
"""A fenced program. If another fence begins before the end, the first one was never closed."""
_OPENS: Final = re.compile(r"```+[\w+-]*[ \t]*\n")
_STATEMENT: Final = re.compile(r"(?:(?:from|import|def|class|async def) \w|@\w)[^\n]*\n")
"""The beginning of a program without a fence."""
_CLOSES: Final = re.compile(r"^[ \t]*```+[ \t]*$", re.MULTILINE)
_PAIR: Final = re.compile(
    r"""(?P<name>[A-Za-z_]\w*)["']?[ \t]*[:=][ \t]*"""
    r"""(?:"(?P<double>[^"\n]*)"|'(?P<single>[^'\n]*)'|(?P<bare>-?[\w.+-]+))"""
)
"""A name and a value in JSON, or as Python prints them."""
_SCORES: Final = ("score", "sum_radii", "combined_score", "fitness", "objective", "reward", "value", "performance")
"""Metrics that may be the score; the first present one counts."""
_VALID: Final = ("valid", "is_valid", "success", "ok", "feasible")
_VALIDITY_WORDS: Final = re.compile(r"\b(invalid|failed|failure|valid|passed|ok)\b|([✓✔])|([✗✘❌])", re.IGNORECASE)
_SEARCH_STEP_CHARS: Final = 1 << 17
_PROSE: Final = re.compile(
    r"(?:\n[ \t]*(?=\n)(?:\n(?!(?:def|class|import|from|for|while|if|return|with|try|except)\b)"
    r"[A-Z][^\n]{0,400}[a-z] [^\n]{0,400}[.:!?][ \t]*)+)+\s*\Z"
)
"""Paragraphs of prose at the end of a message."""
_BLANK: Final = re.compile(r"\n[ \t]*\n")


class TextRange(NamedTuple):
    """Characters `start` to `stop` (exclusive) of a message."""

    start: int
    stop: int


class Trial(Struct, frozen=True, kw_only=True):
    """One trial of a message: characters `start` to `stop`.

    - `heading`: its first line.
    - `code`: the program without the fence; None: no program.
    - `score`, `valid`: None if unknown.
    """

    start: int
    stop: int
    heading: TextRange
    code: TextRange | None
    id: str
    score: float | None
    valid: bool | None
    reasoning: str
    error: str

    @property
    def token(self) -> str:
        """The name of a reference to its program: ``CODE_TRIAL_0_13``."""
        return "CODE_" + "_".join(re.findall(r"[A-Za-z]+|\d+", self.id)).upper()

    @property
    def name(self) -> str:
        """Its id as one word: ``trial_0_13``."""
        return self.token.removeprefix("CODE_").lower()


class _Field(NamedTuple):
    """A field of a trial: its text begins at `value`; its name may begin with a `capital`."""

    name: str
    start: int
    value: int
    indent: str
    capital: bool


def parse_trials(text: str) -> list[Trial]:
    """The trials that `text` lists, in order; a line that only mentions one does not count.

    Headings of a list are spelled alike, which excludes lines of programs that look like one. Of several spellings the
    one with most trials counts.
    """
    fences = [TextRange(*match.span()) for match in _FENCE.finditer(text)] if "```" in text else []
    alike: dict[str, list[re.Match[str]]] = {}
    for match in _headings(text):
        if not any(part.start <= match.start() < part.stop for part in fences):
            alike.setdefault(re.sub(r"\d+", "0", match["lead"]), []).append(match)
    return max((_parse_list(text, heads) for heads in alike.values()), key=len, default=[])


def _headings(text: str) -> Iterator[re.Match[str]]:
    """The lines of `text` that open a trial.

    It searches in steps, so that other threads can run meanwhile.
    """
    offset = 0
    while offset < len(text):
        end = (
            text.rfind("\n", offset, offset + _SEARCH_STEP_CHARS)
            if len(text) - offset > _SEARCH_STEP_CHARS
            else len(text)
        )
        if end < 0:
            end = text.find("\n", offset)
            end = len(text) if end < 0 else end
            match = HEADING.match(text, offset, end)
            yield from (match,) if match else ()
        else:
            yield from HEADING.finditer(text, offset, end)
        offset = end + 1


def _parse_list(text: str, heads: list[re.Match[str]]) -> list[Trial]:
    trials = []
    for head, following in pairwise([*heads, None]):
        assert head is not None
        trial = _parse_trial(text, head, following.start() if following else len(text), following is None)
        if trial is not None:
            trials.append(trial)
    return trials


def _parse_trial(text: str, head: re.Match[str], stop: int, is_last: bool) -> Trial | None:
    fence = _FENCE.search(text, head.end(), stop)
    fields = _find_fields(text, head.end(), stop, fence)
    if fence and not _is_program(text, head.end(), fence, fields):
        fence = None
    inline = dict(_iter_pairs(head["rest"]))
    if not fields and not fence and not inline and not _VALIDITY_WORDS.search(head["rest"]):
        return None
    code, values = TextRange(*fence.span("code")) if fence else None, dict[str, str]()
    hidden: TextRange | None = None
    if not fields and is_last:
        stop = _paragraph_end(text, fence.end() if fence else head.end(), stop)
    for field, after in pairwise([*fields, None]):
        assert field is not None
        end = after.start if after else stop
        if field.name == "code" and not fence:
            code = TextRange(field.value, field.value + len(text[field.value : end].rstrip()))
        else:
            program = _program_in_prose(text, field, end) if field.name in ("reasoning", "error") else None
            if after is None and is_last:
                end = stop = (
                    _paragraph_end(text, field.value, stop) if program is None else _trial_end(text, program, stop)
                )
                program = program and TextRange(program.start, min(program.stop, stop))
            if program is not None and hidden is None:
                hidden = program
                values.setdefault(field.name, text[field.value : program.start].partition("```")[0].strip())
        values.setdefault(field.name, text[field.value : end].strip())
    if hidden is not None and (code is None or code.start == code.stop):
        code = hidden
    metrics = inline | dict(_iter_pairs(values.get("metrics", "")))
    error = values.get("error") or _find_error(metrics)
    return Trial(
        start=head.start(),
        stop=stop,
        heading=TextRange(*head.span()),
        code=code,
        id=head["id"],
        score=_find_score(values.get("score", ""), metrics),
        valid=_find_validity(" ".join((head["rest"], values.get("valid", ""))), metrics, error),
        reasoning=values.get("reasoning", ""),
        error=error,
    )


def _program_in_prose(text: str, field: _Field, end: int) -> TextRange | None:
    """The program in a field of prose: a model's answer that could not be parsed.

    It begins in the field's first paragraph, and its fence may be open, since such answers are truncated.
    """
    start = end - len(text[field.value : end].lstrip())
    statement = _STATEMENT.match(text, start, end)
    fence = None if statement else _OPENS.search(text, start, _paragraph_end(text, start, end))
    if statement is None and fence is None:
        return None
    start = fence.end() if fence else start
    closed = _CLOSES.search(text, start, end) if fence else None
    program_text = text[start : closed.start() if closed else end].rstrip()
    return TextRange(start, start + len(program_text)) if program_text else None


def _trial_end(text: str, program: TextRange, stop: int) -> int:
    """The end of a message's last trial, which ends with `program`.

    Prose after that does not belong to it.
    """
    closed = _CLOSES.match(text, min(stop, program.stop + 1))
    if closed is not None:
        return closed.end()
    prose = _PROSE.search(text, program.start, stop)
    return prose.start() if prose else stop


def _paragraph_end(text: str, start: int, stop: int) -> int:
    blank = _BLANK.search(text, start, stop)
    return blank.start() if blank else stop


def _is_program(text: str, start: int, fence: re.Match[str], fields: Sequence[_Field]) -> bool:
    """Whether the first fence after a heading is the trial's program.

    It is if it comes before the fields, or first in the field for code.
    """
    before = [field for field in fields if field.start <= fence.start()]
    if before:
        return before[-1].name == "code" and not text[before[-1].value : fence.start()].strip()
    return text.count("\n", start, fence.start()) <= 3


def _find_fields(text: str, start: int, stop: int, fence: re.Match[str] | None) -> list[_Field]:
    """The fields of a trial that are indented and spelled like the first one."""
    fields: list[_Field] = []
    for match in _FIELD.finditer(text, start, stop):
        if fence and fence.start() < match.start() < fence.end():
            continue
        field = _Field(
            _NAMES[match["key"].lower()], match.start(), match.end(), match["indent"], match["key"][0].isupper()
        )
        if fields and (field.indent, field.capital) != (fields[0].indent, fields[0].capital):
            continue
        # In a program without a fence a docstring may contain "Approach:"; the measured results end the program.
        in_program = fields and fields[-1].name == "code" and not fence
        if in_program and (
            field.name == "code" or (field.name == "reasoning" and _RESULTS.search(text, field.value, stop))
        ):
            continue
        fields.append(field)
    return fields


_RESULTS: Final = re.compile(
    rf"^[ \t]*(?:\*\*)?(?:{'|'.join((*_KEYS['metrics'], *_KEYS['score']))})(?:\*\*)?[ \t]*:",
    re.IGNORECASE | re.MULTILINE,
)
"""The name of a field with measured results, at the start of a line."""


def _iter_pairs(text: str) -> Iterator[tuple[str, str]]:
    for match in _PAIR.finditer(text):
        value = match["double"] if match["double"] is not None else match["single"]
        yield match["name"].lower(), match["bare"] if value is None else value


def _find_score(text: str, metrics: dict[str, str]) -> float | None:
    first = re.match(r"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?", text)
    if first:
        return float(first[0])
    named = [metrics[name] for name in _SCORES if name in metrics]
    return next((number for value in [*named, *metrics.values()] if (number := _parse_number(value)) is not None), None)


def _parse_number(text: str) -> float | None:
    try:
        return float(text) if text[-1:].isdigit() else None
    except ValueError:
        return None


def _find_validity(text: str, metrics: dict[str, str], error: str) -> bool | None:
    for name in _VALID:
        if metrics.get(name, "").lower() in ("true", "false", "1", "0", "1.0", "0.0"):
            return metrics[name].lower() in ("true", "1", "1.0")
    match = _VALIDITY_WORDS.search(text)
    if match:
        return bool(match[2]) or (match[1] or "").lower() in ("valid", "passed", "ok")
    return False if error else None


def _find_error(metrics: dict[str, str]) -> str:
    error = next((metrics[name] for name in _KEYS["error"] if name in metrics), "")
    return "" if error.lower() in ("none", "null", "false") else error
