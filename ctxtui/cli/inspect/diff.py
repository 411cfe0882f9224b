"""`ctxtui diff`: differences between two contexts, of two calls or two sessions."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Final, NamedTuple

import click

from ctxtui.analysis.book import Book
from ctxtui.analysis.call_choice import choose_call
from ctxtui.analysis.content.changing_blocks import ChangingBlock, find_changing_blocks
from ctxtui.analysis.content.diff import (
    CHANGED,
    ENTERED,
    LEFT,
    RESPELLED,
    Change,
    Diff,
    DiffSide,
    compare_contexts,
    first_call_numbers,
)
from ctxtui.analysis.content.normalized import diff_text
from ctxtui.analysis.content.word_diff import word_diff
from ctxtui.cli.context import JSON_OPTION, config_of, open_recording
from ctxtui.cli.exit_codes import WrongUse
from ctxtui.cli.output import wants_colour, write_json
from ctxtui.cli.paint import Painter, rule, width
from ctxtui.cli.progress import counting
from ctxtui.core.category import CATEGORIES
from ctxtui.core.model_names import short_model
from ctxtui.services.config.settings import Settings
from ctxtui.services.counting.books import book_for
from ctxtui.services.counting.counting import count_all
from ctxtui.services.members import members
from ctxtui.services.recordings.databases.address import MARK, split_address
from ctxtui.services.recordings.recording import Loaded
from ctxtui.views.blocks.word_diff import render
from ctxtui.views.lists import diff as rows_of_diff
from ctxtui.views.text import cells, numbers, safe_text
from ctxtui.views.text.span import Span

DIFFERENT: Final = 1
"""Exit code if the contexts differ, as diff's."""
_CALL: Final = re.compile(r"(?P<name>.*?)[@#](?:(?P<thread>[^@#]+):)?(?P<number>\d{0,9})")
"""``NAME@NUMBER`` or ``NAME@THREAD:NUMBER``, also with ``#``; name and number may be empty."""


class NamedContext(NamedTuple):
    """A recording and one of its calls.

    `thread`: "" for the main one; `number`: from 1, 0 for the last call.
    """

    name: str
    thread: str = ""
    number: int = 0


@click.command("diff")
@click.argument("a", metavar="A")
@click.argument("b", metavar="B")
@click.option("--whole", is_flag=True, help="Print all changes, and all lines of changed blocks.")
@JSON_OPTION
@click.pass_context
def diff(context: click.Context, a: str, b: str, whole: bool, as_json: bool) -> int:
    """Compare two contexts: the first block that differs, word by word, and other changes.

    These are blocks that entered, left, changed, or were respelled (same words, but other JSON or id), in tokens.

    A and B are recordings with a call: PATH@12, ID#12, PATH@THREAD:12; the default is the last call of the main thread.
    B may be just @12: another call of A. Two sessions are compared by the contents of their blocks, in any dialect. The
    exit code is 0 if no block differs, 1 if any does, also in its id alone.

    \b
    Example: ctxtui diff session.jsonl@30 @31
    Example: ctxtui diff before.jsonl after.jsonl
    """
    settings = config_of(context).settings
    left_name = named_context(a)
    right_name = named_context(b)
    if not left_name.name:
        raise WrongUse(f"A names no recording: {a}", way_out="A must be PATH or PATH@CALL")
    (before, first), (after, second) = _open_sides(
        left_name, right_name if right_name.name else right_name._replace(name=left_name.name), settings
    )
    result = compare_contexts(before, after)
    changing_blocks = _find_changing(before, after)
    if as_json:
        write_json(diff_json(result, changing_blocks, (first, second)))
    else:
        print_text(result, changing_blocks, (first, second), settings, whole=whole)
    return 0 if result.is_same else DIFFERENT


def named_context(text: str) -> NamedContext:
    """Parse ``PATH``, ``ID@12``, ``PATH#12``, ``PATH@THREAD:12``.

    An existing file of that name, and ``DATABASE#ID``, take precedence.
    """
    match = _CALL.fullmatch(text)
    if match is None or os.path.lexists(os.path.expanduser(text)):
        return NamedContext(text)
    if text[match.end("name")] == MARK and split_address(Path(text).expanduser())[1]:
        return NamedContext(text)
    return NamedContext(match["name"], match["thread"] or "", int(match["number"] or 0))


def _open_sides(
    left_name: NamedContext, right_name: NamedContext, settings: Settings
) -> tuple[tuple[DiffSide, Loaded], tuple[DiffSide, Loaded]]:
    recordings = {name: open_recording(name, settings) for name in dict.fromkeys((left_name.name, right_name.name))}
    chosen = [
        choose_call(recordings[context_name.name].session, context_name.thread, context_name.number)
        for context_name in (left_name, right_name)
    ]
    books: dict[str, Book] = {}
    with counting(settings) as counter:
        for name, loaded in recordings.items():
            books[name] = book_for(loaded.session, counter, settings)
            count_all(books[name], counter)
    first, second = (
        (DiffSide(books[context_name.name], call), recordings[context_name.name])
        for context_name, call in zip((left_name, right_name), chosen, strict=True)
    )
    return first, second


def _find_changing(before: DiffSide, after: DiffSide) -> list[tuple[DiffSide, list[ChangingBlock]]]:
    threads = {(id(side.book), side.chosen.thread): side for side in (before, after)}
    return [(side, find_changing_blocks(side.book.session, side.chosen.thread)) for side in threads.values()]


Since = Callable[[int], int]
"""From a node to the number of the first call of the side's thread that has it."""


def diff_json(
    result: Diff, changing_blocks: Sequence[tuple[DiffSide, Sequence[ChangingBlock]]], loaded: tuple[Loaded, Loaded]
) -> dict[str, Any]:
    """The output of ``--json``; `loaded` are the recordings of both sides."""
    first, first_calls = result.first_change, (first_call_numbers(result.a), first_call_numbers(result.b))
    return {
        "a": _side_json(result.a, loaded[0]),
        "b": _side_json(result.b, loaded[1]),
        "same": result.is_same,
        "shared": {
            "blocks": result.shared,
            "tokens": result.shared_tokens,
            "parts_at_token": None if result.is_same else result.token_of_difference,
        },
        "kept": {"blocks": result.kept, "tokens": result.kept_tokens},
        **{kind: _total_json(result, kind) for kind in (ENTERED, LEFT, CHANGED, RESPELLED)},
        "first": {**_change_json(result, first, first_calls), "words": _words(result, first)}
        if first is not None
        else None,
        "changes": [_change_json(result, change, first_calls) for change in result.changes],
        "unsteady": [_changing_json(side, block) for side, some in changing_blocks for block in some],
    }


def _side_json(side: DiffSide, loaded: Loaded) -> dict[str, Any]:
    about, chosen = side.book.session.about, side.chosen
    return {
        "id": about.id or loaded.name,
        "title": about.title or loaded.name,
        **members(chosen, "thread call=number model=call.model"),
        "context_tokens": side.context_tokens,
    }


def _total_json(result: Diff, kind: str) -> dict[str, int]:
    blocks, before, after = result.count_changes(kind)
    return {"blocks": blocks, "tokens_before": before, "tokens_after": after}


def _change_json(result: Diff, change: Change, first_calls: tuple[Since, Since]) -> dict[str, Any]:
    side, node = (result.a, change.before) if change.after is None else (result.b, change.after)
    assert node is not None
    here = side.tree[node]
    return {
        "kind": change.kind,
        "at": change.at,
        "category": CATEGORIES[side.category(node)],
        "label": side.book.names.label(here),
        "role": here.place.role,
        "why": result.removal_reason(change),
        "digests": [_digest(result.a, change.before), _digest(result.b, change.after)],
        "tokens": [change.tokens_before, change.tokens_after],
        "since_call": [
            first_calls[0](change.before) if change.before is not None else None,
            first_calls[1](change.after) if change.after is not None else None,
        ],
    }


def _digest(side: DiffSide, node: int | None) -> str | None:
    return side.tree[node].block.digest if node is not None else None


def _words(result: Diff, change: Change) -> list[list[str]]:
    """Pairs of ``same``, ``removed`` or ``added`` and the text."""
    before = diff_text(result.a.tree[change.before]) if change.before is not None else ""
    after = diff_text(result.b.tree[change.after]) if change.after is not None else ""
    return [list(piece) for piece in word_diff(before, after)]


def _changing_json(side: DiffSide, block: ChangingBlock) -> dict[str, Any]:
    node = side.tree[block.nodes[-1]]
    return {
        "thread": side.chosen.thread,
        "category": CATEGORIES[side.category(block.nodes[-1])],
        "label": side.book.names.label(node),
        "changes": block.changes,
        "calls": list(block.calls),
        "digests": [side.tree[n].block.digest for n in block.nodes],
        "tokens": side.tokens(block.nodes[-1]),
        "last_words": [
            list(piece)
            for piece in word_diff(diff_text(side.tree[block.nodes[-2]]), diff_text(side.tree[block.nodes[-1]]))
        ],
    }


MAX_DIFF_LINES = 24
MAX_LISTED_CHANGES = 40


def print_text(
    result: Diff,
    changing_blocks: Sequence[tuple[DiffSide, Sequence[ChangingBlock]]],
    loaded: tuple[Loaded, Loaded],
    settings: Settings,
    *,
    whole: bool,
) -> None:
    """Print the diff; `whole`: all changes, and all lines of changed blocks."""
    painter = Painter(settings.glyphs)
    for lines in (
        _head_lines(result, loaded),
        rows_of_diff.summary(result),
        _first_lines(result, whole),
        _change_lines(result, whole),
        _changing_lines(changing_blocks, whole),
    ):
        painter.lines(lines)


def _head_lines(result: Diff, loaded: tuple[Loaded, Loaded]) -> Iterator[list[Span]]:
    for mark, side, loaded_side in (("−", result.a, loaded[0]), ("+", result.b, loaded[1])):
        about, call = side.book.session.about, side.chosen
        thread = "" if call.thread == "main" else f" · {safe_text.one_line(call.thread)}"
        where = f"call {call.number}" if call.number else "not sent yet"
        title = safe_text.one_line(about.title or loaded_side.name)
        right = f"  {where}{thread} · {safe_text.one_line(short_model(call.call.model))}"
        right += f"  {numbers.tokens(side.context_tokens)}"
        style = "del" if mark == "−" else "add"
        room = max(10, width() - 2 - cells.width(right))
        yield [Span(f"{mark} ", f"{style} bold"), Span(cells.left(title, room), "bold"), Span(right, "dim")]


def _first_lines(result: Diff, whole: bool) -> Iterator[list[Span]]:
    first = result.first_change
    if first is None:
        return
    yield from rule("first difference", rows_of_diff.describe_position(result, first))
    yield list(rows_of_diff.change_row(result, first, width() - 1))
    if first.kind in (CHANGED, RESPELLED):
        yield from _word_lines(result, first, whole)


def _word_lines(result: Diff, change: Change, whole: bool) -> Iterator[list[Span]]:
    assert change.before is not None and change.after is not None
    before, after = result.a.tree[change.before], result.b.tree[change.after]
    if change.kind == RESPELLED:
        texts = before.block.body.decode("utf-8", "replace"), after.block.body.decode("utf-8", "replace")
    else:
        texts = diff_text(before), diff_text(after)
    lines = render(word_diff(*texts), width() - 1, whole=whole, spelled=not wants_colour())
    yield from (list(line) for line in islice(lines, None if whole else MAX_DIFF_LINES))
    if next(lines, None) is not None:
        yield [Span("    ⋮  more changed lines; --whole prints all", "dim")]


def _change_lines(result: Diff, whole: bool) -> Iterator[list[Span]]:
    listed = result.changes if whole else result.changes[:MAX_LISTED_CHANGES]
    if not listed:
        return
    unlisted = len(result.changes) - len(listed)
    yield from rule("changes", f"{len(listed)} of {len(result.changes)}, --whole prints all" if unlisted else "")
    for change in listed:
        yield list(rows_of_diff.change_row(result, change, width() - 1))
        if whole and change.kind in (CHANGED, RESPELLED) and change is not result.first_change:
            yield from _word_lines(result, change, whole)


def _changing_lines(
    changing_blocks: Sequence[tuple[DiffSide, Sequence[ChangingBlock]]], whole: bool
) -> Iterator[list[Span]]:
    rows = [(side, block) for side, some in changing_blocks for block in some]
    listed = rows if whole else rows[:MAX_LISTED_CHANGES]
    if not listed:
        return
    unlisted = len(rows) - len(listed)
    yield from rule(
        "changing within the run",
        f"{len(listed)} of {len(rows)}, --whole prints all" if unlisted else "same position, different content",
    )
    for side, block in listed:
        yield list(rows_of_diff.unsteady_row(side, block, width() - 1))
