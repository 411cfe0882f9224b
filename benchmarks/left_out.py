"""Forecasts of each recording by what the recordings of other projects taught, leaving its own project out.

What is fitted, and fitted anew for each project: the factors with which blocks are counted, from a prior that knows no
provider; rules of caches that were measured on the project's own recordings (documented
ones stand in for them).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final, NamedTuple, TypeVar

from msgspec.structs import replace

from benchmarks.naive import naive
from benchmarks.recorded import Recording
from ctxtui.analysis.audit import AuditedCall, audit_calls
from ctxtui.analysis.book import Book
from ctxtui.analysis.cache.audit import AuditedRead, audit_reads
from ctxtui.analysis.forecast import Forecaster, is_informative
from ctxtui.cache.rule_table import RuleTable, parse_rules
from ctxtui.cache.rules import CacheRules
from ctxtui.core.call import Call
from ctxtui.services.config.package_data import DATA
from ctxtui.tokens.calibrate import Calibration
from ctxtui.tokens.features import Features
from ctxtui.tokens.models import ModelCard

MEASURED: Final = {
    "openai-measured": "EntityProcess/agentv",
    "openai-kept": "EntityProcess/agentv",
    "deepseek-measured": "SWE-agent/mini-swe-agent",
}
"""Sources of rules of caches (`ctxtui/data/cache.toml`) that were measured, and the project of the recordings."""

Row = TypeVar("Row", AuditedCall, AuditedRead)
Lesson = tuple[str, ModelCard, Features, float, int]
"""What one report taught: its family, card, features, tokens, answers taken from reports."""


class Pair(NamedTuple):
    """One call as foretold and as reported: its input, its cache read (None: not reported), what the naive rule says
    of both."""

    input: AuditedCall
    read: AuditedRead | None
    naive_input: int
    naive_read: int


@dataclass(frozen=True, slots=True)
class Known:
    """A recording and what its reports teach."""

    recording: Recording
    lessons: tuple[Lesson, ...]


def known(recording: Recording) -> Known:
    """`recording` with what its reports teach."""
    return Known(recording, tuple(lessons(recording.book)))


def lessons(book: Book) -> list[Lesson]:
    """What the reports of a recording teach, in order."""
    forecaster = Forecaster(book.session, book.cumulated, book.card)
    found = []
    for call in book.session.calls.values():
        forecast = forecaster.forecast(call) if call.usage else None
        if forecast and call.usage and is_informative(forecast, call.usage.input):
            tokens = call.usage.input - forecast.known_tokens - forecast.added
            card = book.card(call.model)
            found.append((family(card), card, forecast.features, tokens, forecast.answers))
        forecaster.learn(call, forecast)
    return found


def family(card: ModelCard) -> str:
    """Cards of one family share a prior."""
    return f"{card.provider} {card.factors.text}"


def foretold(held: Recording, others: Sequence[Known]) -> list[Pair]:
    """The calls of `held`, foretold by what `others` taught; none of them may be of its project."""
    fitted = _fitted(held.book, (one for other in others for one in other.lessons))
    rules = _rules_of(held.book, rules_without(held.project))
    reads = {(row.thread, row.call): row for row in own(held, audit_reads(held.book, rules, fitted.__getitem__))}
    pairs = []
    for row in own(held, audit_calls(held.book, fitted.__getitem__)):
        pairs.append(Pair(row, reads.get((row.thread, row.call)), *_naively(held.book, row.thread, row.call)))
    return pairs


@cache
def rules_without(project: str) -> RuleTable:
    """How prompts are cached, without the rules that were measured on recordings of `project` ("": with all)."""
    gone = [f'\nsource = "{source}"\n' for source, of in MEASURED.items() if of == project]
    parts = re.split(r"(?m)^(?=\[\[)", (DATA / "cache.toml").read_text(encoding="utf-8"))
    return parse_rules("".join(part for part in parts if not any(source in part for source in gone)))


def own(recording: Recording, rows: Iterable[Row]) -> list[Row]:
    """The rows of calls that no earlier recording of the client has."""
    order = recording.book.session.order
    return [row for row in rows if order[row.thread][row.call - 1] in recording.own]


def _fitted(book: Book, taught: Iterable[Lesson]) -> dict[str, ModelCard]:
    """The cards of the models in `book`: with the factors that `taught` teaches, from those of a model of which nothing
    is known."""
    blank = book.card("a model of which nothing is known")
    learnt: dict[str, Calibration] = {}
    for kind, card, features, tokens, answers in taught:
        if kind not in learnt:
            learnt[kind] = Calibration(replace(card, factors=blank.factors, doubt=blank.doubt))
        learnt[kind].learn(features, tokens, answers)
    cards = {}
    for model in {call.model for call in book.session.calls.values()}:
        card = book.card(model)
        factors = learnt[family(card)].factors if family(card) in learnt else blank.factors
        cards[model] = replace(card, factors=factors, doubt=card.doubt if family(card) in learnt else blank.doubt)
    return cards


def _rules_of(book: Book, table: RuleTable) -> Callable[[Call], CacheRules]:
    return lambda call: table.for_call(call, book.card(call.model))


def _naively(book: Book, thread: str, number: int) -> tuple[int, int]:
    calls, tree = book.session.thread_calls(thread), book.session.tree
    call = calls[number - 1]
    before = next(one for one in reversed(calls[: number - 1]) if one.usage is not None)
    shared = tree.common(before.response_head, call.sent_head)
    return naive(call, before, sum(len(tree[node].block.body) for node in tree.path(call.sent_head, shared)))
