"""`ctxtui diff`: what one context holds that another does not, of two calls or of two sessions."""

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
from ctxtui.analysis.content.diff import CHANGED, ENTERED, LEFT, RESPELLED, Change, Diff, DiffSide, first_call_numbers
from ctxtui.analysis.content.diff import compare_contexts as made
from ctxtui.analysis.content.normalized import diff_text
from ctxtui.analysis.content.volatile import ChangingBlock, find_changing_blocks
from ctxtui.analysis.content.word_diff import word_diff
from ctxtui.analysis.short_names import short_model
from ctxtui.cli.context import JSON_OPTION, config_of, opened
from ctxtui.cli.exit_codes import WrongUse
from ctxtui.cli.output import wants_colour, write_json
from ctxtui.cli.paint import Painter, rule, width
from ctxtui.cli.progress import counting
from ctxtui.core.category import CATEGORIES
from ctxtui.services.config.settings import Settings
from ctxtui.services.counting.books import book_for
from ctxtui.services.counting.counting import count_all
from ctxtui.services.members import members
from ctxtui.services.recordings.recording import Loaded
from ctxtui.views.blocks.word_diff import drawn
from ctxtui.views.lists import diff as rows_of_diff
from ctxtui.views.text import cells, numbers, safe_text
from ctxtui.views.text.span import Span

DIFFERENT: Final = 1
_CALL: Final = re.compile(r"(?P<name>.*?)[@#](?:(?P<thread>[^@#]+):)?(?P<number>\d*)")


class NamedContext(NamedTuple):
    """A context as it is named: a recording, a thread of it ("": the main one), a call's number (0: the last)."""

    name: str
    thread: str = ""
    number: int = 0


@click.command("diff")
@click.argument("a", metavar="A")
@click.argument("b", metavar="B")
@click.option("--whole", is_flag=True, help="Print all lines of changed blocks, and every block that entered or left.")
@JSON_OPTION
@click.pass_context
def diff(context: click.Context, a: str, b: str, whole: bool, as_json: bool) -> int:
    """Compare two contexts: the first block that differs, word by word; what entered, left and changed, in tokens.

    A and B are recordings, each with the call that is meant: PATH@12, ID#12, PATH@THREAD:12; without one it is the last
    call of the main thread. B may be @12 alone: another call of A. Two sessions are compared by what their blocks say,
    whatever dialect they were recorded in. The exit code is 0 where the model reads the same, 1 where it does not.

    \b
    Example: ctxtui diff session.jsonl@30 @31
    Example: ctxtui diff before.jsonl after.jsonl
    """
    settings = config_of(context).settings
    one = named_context(a)
    other = named_context(b)
    if not one.name:
        raise WrongUse(f"{a} names no recording", way_out="the first of the two is PATH or PATH@CALL")
    (before, first), (after, second) = _open_sides(
        one, other if other.name else other._replace(name=one.name), settings
    )
    found = made(before, after)
    steady = _unsteady_blocks(before, after)
    if as_json:
        write_json(diff_json(found, steady, (first, second)))
    else:
        print_text(found, steady, (first, second), settings, whole=whole)
    return 0 if found.is_same else DIFFERENT


def named_context(text: str) -> NamedContext:
    """What `text` names: ``PATH``, ``ID@12``, ``PATH#12``, ``PATH@THREAD:12``; a file of that very name goes first."""
    found = _CALL.fullmatch(text)
    if found is None or os.path.lexists(Path(text).expanduser()):
        return NamedContext(text)
    return NamedContext(found["name"], found["thread"] or "", int(found["number"] or 0))


def _open_sides(
    one: NamedContext, other: NamedContext, settings: Settings
) -> tuple[tuple[DiffSide, Loaded], tuple[DiffSide, Loaded]]:
    recordings = {name: opened(name, settings) for name in dict.fromkeys((one.name, other.name))}
    chosen = [choose_call(recordings[each.name].session, each.thread, each.number) for each in (one, other)]
    books: dict[str, Book] = {}
    with counting(settings) as counter:
        for name, loaded in recordings.items():
            books[name] = book_for(loaded.session, counter, settings)
            count_all(books[name], counter)
    first, second = (
        (DiffSide(books[each.name], call), recordings[each.name])
        for each, call in zip((one, other), chosen, strict=True)
    )
    return first, second


def _unsteady_blocks(before: DiffSide, after: DiffSide) -> list[tuple[DiffSide, list[ChangingBlock]]]:
    """The blocks that change within the run of each thread that is compared."""
    threads = {(id(side.book), side.chosen.thread): side for side in (before, after)}
    return [(side, find_changing_blocks(side.book.session, side.chosen.thread)) for side in threads.values()]


Since = Callable[[int], int]


def diff_json(
    found: Diff, steady: Sequence[tuple[DiffSide, Sequence[ChangingBlock]]], loaded: tuple[Loaded, Loaded]
) -> dict[str, Any]:
    """The fields of ``diff --json``; `loaded` are the recordings of both sides."""
    first, begun = found.first_change, (first_call_numbers(found.a), first_call_numbers(found.b))
    return {
        "a": _side_json(found.a, loaded[0]),
        "b": _side_json(found.b, loaded[1]),
        "same": found.is_same,
        "shared": {
            "blocks": found.shared,
            "tokens": found.shared_tokens,
            "parts_at_token": None if found.is_same else found.token,
        },
        "kept": {"blocks": found.kept, "tokens": found.kept_tokens},
        **{kind: _total_json(found, kind) for kind in (ENTERED, LEFT, CHANGED, RESPELLED)},
        "first": {**_change_json(found, first, begun), "words": _words(found, first)} if first is not None else None,
        "changes": [_change_json(found, change, begun) for change in found.changes],
        "unsteady": [_unsteady_json(side, one) for side, some in steady for one in some],
    }


def _side_json(side: DiffSide, loaded: Loaded) -> dict[str, Any]:
    about, chosen = side.book.session.about, side.chosen
    return {
        "id": about.id or loaded.name,
        "title": about.title or loaded.name,
        **members(chosen, "thread call=number model=call.model"),
        "context_tokens": side.context_tokens,
    }


def _total_json(found: Diff, kind: str) -> dict[str, int]:
    blocks, before, after = found.count_changes(kind)
    return {"blocks": blocks, "tokens_before": before, "tokens_after": after}


def _change_json(found: Diff, change: Change, begun: tuple[Since, Since]) -> dict[str, Any]:
    side, node = (found.a, change.before) if change.after is None else (found.b, change.after)
    assert node is not None
    here = side.tree[node]
    return {
        "kind": change.kind,
        "at": change.at,
        "category": CATEGORIES[side.category(node)],
        "label": side.book.names.label(here),
        "role": here.place.role,
        "why": found.removal_reason(change),
        "digests": [_digest(found.a, change.before), _digest(found.b, change.after)],
        "tokens": [change.tokens_before, change.tokens_after],
        "since_call": [
            begun[0](change.before) if change.before is not None else None,
            begun[1](change.after) if change.after is not None else None,
        ],
    }


def _digest(side: DiffSide, node: int | None) -> str | None:
    return side.tree[node].block.digest if node is not None else None


def _words(found: Diff, change: Change) -> list[list[str]]:
    """The word diff of one change: pairs of ``same``, ``removed`` or ``added`` and the text."""
    before = diff_text(found.a.tree[change.before]) if change.before is not None else ""
    after = diff_text(found.b.tree[change.after]) if change.after is not None else ""
    return [list(piece) for piece in word_diff(before, after)]


def _unsteady_json(side: DiffSide, one: ChangingBlock) -> dict[str, Any]:
    node = side.tree[one.nodes[-1]]
    return {
        "thread": side.chosen.thread,
        "category": CATEGORIES[side.category(one.nodes[-1])],
        "label": side.book.names.label(node),
        "changes": one.changes,
        "calls": list(one.calls),
        "digests": [side.tree[n].block.digest for n in one.nodes],
        "tokens": side.tokens(one.nodes[-1]),
        "last_words": [
            list(piece) for piece in word_diff(diff_text(side.tree[one.nodes[-2]]), diff_text(side.tree[one.nodes[-1]]))
        ],
    }


_LINES = 24
"""Lines of a word diff that are printed."""
_ROWS = 40
"""Changes that are listed."""


def print_text(
    found: Diff,
    steady: Sequence[tuple[DiffSide, Sequence[ChangingBlock]]],
    loaded: tuple[Loaded, Loaded],
    settings: Settings,
    *,
    whole: bool,
) -> None:
    """Print the diff."""
    painter = Painter(settings.glyphs)
    for lines in (
        _heads(found, loaded),
        rows_of_diff.summary(found),
        _first(found, whole),
        _changes(found, whole),
        _steady(steady),
    ):
        painter.lines(lines)


def _heads(found: Diff, loaded: tuple[Loaded, Loaded]) -> Iterator[list[Span]]:
    for mark, side, one in (("−", found.a, loaded[0]), ("+", found.b, loaded[1])):
        about, call = side.book.session.about, side.chosen
        thread = "" if call.thread == "main" else f" · {safe_text.one_line(call.thread)}"
        where = f"call {call.number}" if call.number else "not sent yet"
        title = safe_text.one_line(about.title or one.name)
        right = f"  {where}{thread} · {safe_text.one_line(short_model(call.call.model))}"
        right += f"  {numbers.tokens(side.context_tokens)}"
        style = "del" if mark == "−" else "add"
        room = max(10, width() - 2 - cells.width(right))
        yield [Span(f"{mark} ", f"{style} bold"), Span(cells.left(title, room), "bold"), Span(right, "dim")]


def _first(found: Diff, whole: bool) -> Iterator[list[Span]]:
    first = found.first_change
    if first is None:
        return
    yield from rule("first difference", rows_of_diff.place(found, first))
    yield list(rows_of_diff.change_row(found, first, width() - 1))
    if first.kind in (CHANGED, RESPELLED):
        yield from _word_lines(found, first, whole)


def _word_lines(found: Diff, change: Change, whole: bool) -> Iterator[list[Span]]:
    assert change.before is not None and change.after is not None
    before, after = found.a.tree[change.before], found.b.tree[change.after]
    if change.kind == RESPELLED:
        texts = before.block.body.decode("utf-8", "replace"), after.block.body.decode("utf-8", "replace")
    else:
        texts = diff_text(before), diff_text(after)
    lines = drawn(word_diff(*texts), width() - 1, whole=whole, spelled=not wants_colour())
    yield from (list(line) for line in islice(lines, None if whole else _LINES))
    if next(lines, None) is not None:
        yield [Span("    ⋮  more changed lines; --whole prints all", "dim")]


def _changes(found: Diff, whole: bool) -> Iterator[list[Span]]:
    listed = found.changes if whole else found.changes[:_ROWS]
    if not listed:
        return
    left = len(found.changes) - len(listed)
    yield from rule("changes", f"{len(listed)} of {len(found.changes)}, --whole prints all" if left else "")
    for change in listed:
        yield list(rows_of_diff.change_row(found, change, width() - 1))
        if whole and change.kind == CHANGED and change is not found.first_change:
            yield from _word_lines(found, change, whole)


def _steady(steady: Sequence[tuple[DiffSide, Sequence[ChangingBlock]]]) -> Iterator[list[Span]]:
    rows = [(side, one) for side, some in steady for one in some]
    if not rows:
        return
    yield from rule("changing within the run", "the same place, other content")
    for side, one in rows[:_ROWS]:
        yield list(rows_of_diff.steady_row(side, one, width() - 1))
