"""`ctxtui diff`: what one context holds that another does not, of two calls or of two sessions."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Final, NamedTuple

import click

from ctxtui.analysis.book import Book
from ctxtui.analysis.call_choice import choose
from ctxtui.analysis.content.diff import DiffSide
from ctxtui.analysis.content.diff import diff as made
from ctxtui.analysis.content.volatile import Unsteady, unsteady
from ctxtui.cli.context import config_of, opened
from ctxtui.cli.exit_codes import WrongUse
from ctxtui.cli.inspect.diff_json import as_fields
from ctxtui.cli.inspect.diff_text import print_text
from ctxtui.cli.output import write_json
from ctxtui.cli.progress import counting
from ctxtui.services.config.settings import Settings
from ctxtui.services.counting.books import book_for
from ctxtui.services.counting.counting import count_all
from ctxtui.services.recordings.recording import Loaded

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
@click.option("--json", "as_json", is_flag=True, help="Print JSON (schema_version 1).")
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
    one = named(a)
    other = named(b)
    if not one.name:
        raise WrongUse(f"{a} names no recording", way_out="the first of the two is PATH or PATH@CALL")
    (before, first), (after, second) = _sides(one, other if other.name else other._replace(name=one.name), settings)
    found = made(before, after)
    steady = _unsteady(before, after)
    if as_json:
        write_json(as_fields(found, steady, (first, second)))
    else:
        print_text(found, steady, (first, second), settings, whole=whole)
    return 0 if found.same else DIFFERENT


def named(text: str) -> NamedContext:
    """What `text` names: ``PATH``, ``ID@12``, ``PATH#12``, ``PATH@THREAD:12``; a file of that very name goes first."""
    found = _CALL.fullmatch(text)
    if found is None or os.path.lexists(Path(text).expanduser()):
        return NamedContext(text)
    return NamedContext(found["name"], found["thread"] or "", int(found["number"] or 0))


def _sides(
    one: NamedContext, other: NamedContext, settings: Settings
) -> tuple[tuple[DiffSide, Loaded], tuple[DiffSide, Loaded]]:
    recordings = {name: opened(name, settings) for name in dict.fromkeys((one.name, other.name))}
    chosen = [choose(recordings[each.name].session, each.thread, each.number) for each in (one, other)]
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


def _unsteady(before: DiffSide, after: DiffSide) -> list[tuple[DiffSide, list[Unsteady]]]:
    """The blocks that change within the run of each thread that is compared."""
    threads = {(id(side.book), side.chosen.thread): side for side in (before, after)}
    return [(side, unsteady(side.book.session, side.chosen.thread)) for side in threads.values()]
