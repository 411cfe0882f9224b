"""The calls whose reports brought a residual, and what came with each that a client adds text to without a record."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice, pairwise
from typing import Final

from msgspec import Struct

from ctxtui.analysis.book import Book
from ctxtui.core.block_content import read
from ctxtui.core.call import Call
from ctxtui.core.category import INDEX
from ctxtui.core.file_accesses import READ, command_of, touches
from ctxtui.core.tree import ROOT
from ctxtui.curation.record_summary import LISTS

_LOOKED_AT: Final = 12
"""Steps of a residual whose causes are looked for."""
_SHARE: Final = 0.03
"""A step that brought less than this share of a residual is not looked at."""
_LEAST: Final = 100
"""Tokens from which on a step is one: what is less may be the error of counting."""
_LOOKED_BACK: Final = 2_000
"""Blocks before a command among which a file must have been read."""
_MOST: Final = 48
"""Characters of a command that are told."""
_CALL, _USER = INDEX["tool_call"], INDEX["user"]

LIST: Final = "the list that was changed with it, which the client repeats as a reminder and did not record"
SPOKEN: Final = "what the client put beside the user's words and did not record: changed files, memories, lists"
ANY: Final = "text that the client added and did not record: reminders, changed files, lists"


class ResidualStep(Struct, frozen=True):
    """The report of call `number` moved the residual by `tokens` (negative: down)."""

    number: int
    tokens: int


def steps(book: Book, call: Call) -> tuple[ResidualStep, ...]:
    """Every step by which the residual of `call` came to be since its epoch began, in order. They add up to it where
    the context only grew."""
    reports = [
        told
        for one in _of_epoch(book, call)
        if one.usage is not None and (told := book.contexts.residual_of(one)) is not None
    ]
    moved = ((number, here - before) for (_, before), (number, here) in pairwise([(0, 0), *reports]))
    return tuple(ResidualStep(number, tokens) for number, tokens in moved if tokens)


def _of_epoch(book: Book, call: Call) -> Iterator[Call]:
    for one in book.session.thread_calls(call.thread):
        if one.epoch.number == call.epoch.number:
            yield one
        if one.id == call.id:
            return


def largest(every: Sequence[ResidualStep], tokens: int) -> list[ResidualStep]:
    """The steps that most of a residual of `tokens` came with, the largest first."""
    least = max(_LEAST, _SHARE * abs(tokens))
    found = [one for one in every if one.tokens * tokens > 0 and abs(one.tokens) >= least]
    return sorted(found, key=lambda one: -abs(one.tokens))[:_LOOKED_AT]


def added_beside(book: Book, number: int, call: Call) -> str:
    """What a client is likely to have added to the context of call `number` of the thread of `call`, by what is new in
    it: it shows again what a command changed in files that were read, and repeats a list that was changed."""
    calls, tree = book.session.thread_calls(call.thread), book.session.tree
    if not 0 < number <= len(calls):
        return ANY
    head = calls[number - 1].sent_head
    before = calls[number - 2].sent_head if number > 1 else ROOT
    new = tree.path(head, tree.common(before, head))
    asked = [read(tree[node].block) for node in new if tree[node].category == _CALL]
    if any(word in one.name.lower() for one in asked for word in LISTS):
        return LIST
    command = next((words for one in reversed(asked) if (words := command_of(one))), "")
    if command and _was_read(book, head):
        words = " ".join(command.split())
        told = words if len(words) <= _MOST else words[: _MOST - 1] + "…"
        return f"what `{told}` changed in files that were read before, which the client shows again and did not record"
    return SPOKEN if any(tree[node].category == _USER for node in new) and not asked else ANY


def _was_read(book: Book, head: int) -> bool:
    tree = book.session.tree
    for node in islice(reversed(tree.path(head)), _LOOKED_BACK):
        if tree[node].category == _CALL and any(one.kind == READ for one in touches(read(tree[node].block))):
            return True
    return False
