"""`ctxtui search`: a text in every session there is."""

from __future__ import annotations

import sys
import time
from itertools import islice
from pathlib import Path
from typing import Any, Final

import click

from ctxtui.cli.all_sessions import Age
from ctxtui.cli.context import JSON_OPTION, SessionName, config_of, named
from ctxtui.cli.output import note, write_json
from ctxtui.cli.paint import Painter, home_short, width
from ctxtui.cli.progress import Working
from ctxtui.core.category import CATEGORIES
from ctxtui.core.errors import CtxtuiError
from ctxtui.core.session import MAIN
from ctxtui.services.config.config import Config
from ctxtui.services.library.library import SessionLibrary, summary_from_file
from ctxtui.services.members import members
from ctxtui.services.recordings.discover import recording_at
from ctxtui.services.search.library_search import BlockFilter, Hit, Searcher
from ctxtui.services.search.pattern import Pattern
from ctxtui.views.home.columns import age_of
from ctxtui.views.model.session_summary import HERE, SAMPLES, SessionSummary
from ctxtui.views.text import safe_text
from ctxtui.views.text.signs import CATEGORY
from ctxtui.views.text.span import Span, cropped
from ctxtui.views.text.table import Column, Table

NOTHING: Final = 1
"""The exit code where nothing was found, as grep has it."""
_MOST: Final = 200
_KINDS: Final = tuple(name.replace("_", "-") for name in CATEGORIES)


@click.command("search")
@click.argument("query", metavar="QUERY")
@click.option("-e", "--regex", is_flag=True, help="QUERY is a regular expression.")
@click.option("--session", "name", metavar="NAME", type=SessionName(), help="Only this file, folder or session id.")
@click.option(
    "--kind", "kinds", multiple=True, type=click.Choice(_KINDS), help="Only blocks of this kind (repeatable)."
)
@click.option("--tool", default="", metavar="TEXT", help="Only tools, calls and results of tools with such a name.")
@click.option("--source", default="", metavar="TEXT", help="Only sessions of such a format: codex, claude ...")
@click.option("--here", is_flag=True, help="Only sessions of this directory and its worktrees.")
@click.option("--since", type=Age(), metavar="AGE", help="Only sessions written to within an age: 7d, 12h ...")
@click.option("--archived", is_flag=True, help="Archived sessions too.")
@click.option("--limit", type=click.IntRange(min=1), default=_MOST, show_default=True, help="At most N blocks.")
@JSON_OPTION
@click.pass_context
def search(context: click.Context, /, query: str, *, limit: int, as_json: bool, **chosen: Any) -> int:
    """Find a text in the blocks of every session: stored ones and those of clients on this machine, newest first.

    Capital letters in QUERY make case matter. Sessions that the full-text index does not hold yet (it is filled while
    the screen runs, or by `ctxtui db index`) are searched directly. Exits 0 if something was found, 1 if not.

    \b
    Example: ctxtui search "permission denied" --kind tool-result --since 7d
    Example: ctxtui search -e "E[0-9]{4}"
    """
    if not query:
        raise click.UsageError("an empty text is in every block")
    config = config_of(context)
    wanted = BlockFilter(frozenset(kind.replace("-", "_") for kind in chosen["kinds"]), chosen["tool"])
    searcher = Searcher(config.settings, Pattern(query, regex=chosen["regex"]), wanted)
    sessions = _sessions(chosen, config)
    found: list[Hit] = []
    painter = None if as_json else Painter(config.settings.glyphs)
    with Working("searching") as work:

        def goes_on(done: int) -> bool:
            work.say(f"{done:,} of {len(sessions):,} sessions")
            return True

        for hit in islice(searcher.hits(sessions, goes_on), limit + 1):
            if painter and len(found) < limit:
                _print(painter, hit, first=not found or found[-1].summary.key != hit.summary.key)
            found.append(hit)
    more, found = len(found) > limit, found[:limit]
    if as_json:
        write_json(_search_json(query, bool(chosen["regex"]), found, more, searcher))
    else:
        _remarks(searcher, more, limit)
    return 0 if found else NOTHING


def _sessions(chosen: dict[str, Any], config: Config) -> list[SessionSummary]:
    """The sessions to be searched, newest first, samples last."""
    shelf = SessionLibrary(config.settings, Path.cwd())
    if chosen["name"]:
        return _named(chosen["name"], config)
    found = shelf.all_sessions()
    if shelf.trouble:
        # What is looked through needs it, too: it would be said twice.
        raise shelf.trouble
    oldest = time.time() - chosen["since"] if chosen["since"] is not None else 0.0
    wanted = [
        one
        for one in found
        if (chosen["archived"] or not one.archived)
        and (one.group == HERE or not chosen["here"])
        and (one.mtime >= oldest and (one.group != SAMPLES or not oldest))
        and chosen["source"].lower() in one.source.lower()
    ]
    return sorted(wanted, key=lambda one: (one.group == SAMPLES, -one.mtime))


def _named(name: str, config: Config) -> list[SessionSummary]:
    found = named(name, config.settings, say=False)
    if found.stored:
        return [SessionSummary(key=found.stored, title=found.stored, stored=found.stored)]
    if found.path is None:
        raise CtxtuiError("standard input cannot be searched", way_out="name a file")
    seen = (recording_at(path.absolute()) for path in (found.path, *found.others))
    return [summary_from_file(one, time.time(), config.settings.live_seconds) for one in seen if one is not None]


def _print(painter: Painter, hit: Hit, *, first: bool) -> None:
    one, found = hit.summary, hit.found
    if first:
        age = f"  {ago}" if (ago := age_of(one, time.time())) else ""
        title = safe_text.one_line(hit.session.about.title or one.title)
        head = [
            Span(home_short(one.path) or one.stored, "bold"),
            Span(age, "dim"),
            Span(f"  {title}", "dim"),
        ]
        painter.line(cropped(head, width()) if sys.stdout.isatty() else head)
    at = found.at
    line = [
        *_HITS.draw(hit, 0),
        Span(safe_text.line(found.snippet[:at])),
        Span(safe_text.line(found.snippet[at : found.end]), "warn bold"),
        Span(safe_text.line(found.snippet[found.end :])),
        Span(f"  ({found.hits:,} hits)" if found.hits > 1 else "", "dim"),
    ]
    painter.line(cropped(line, width()) if sys.stdout.isatty() else line)


def _where(hit: Hit, room: int) -> Span:
    place = hit.found.place
    where = f"call {place.call:,}" if place.call is not None else "not sent"
    return Span(where + (f" {safe_text.one_line(place.thread)}" if place.thread != MAIN else ""))


_HITS: Final[Table[Hit]] = Table(
    (
        Column("", 12, _where, "left"),
        Column("", 1, lambda hit, _: CATEGORY[CATEGORIES.index(hit.found.place.category)].span, gap=1),
        Column("", 16, lambda hit, _: Span(safe_text.one_line(hit.label), "dim"), "left", gap=1),
    ),
    mark=2,
    tail=2,
)
"""What stands before the snippet of a hit."""


def _remarks(searcher: Searcher, more: bool, limit: int) -> None:
    tally = searcher.tally
    if more:
        note(f"there are more than {limit:,} blocks with hits: --limit shows more of them")
    for name, error in tally.failed.items():
        note(f"{name} was left out: {error.message}")
    if tally.direct and tally.direct > tally.indexed and sys.stderr.isatty():
        note(
            f"{tally.direct:,} sessions are not in the full-text index: `ctxtui db index` makes the next search faster"
        )


def _search_json(query: str, regex: bool, found: list[Hit], more: bool, searcher: Searcher) -> dict[str, Any]:
    tally = searcher.tally
    return {
        "query": query,
        "regex": regex,
        "case_sensitive": searcher.pattern.exact,
        "hits": [_row(hit) for hit in found],
        "more": more,
        "sessions": {"indexed": tally.indexed, "direct": tally.direct},
        "failed": [{"session": name, "message": error.message} for name, error in tally.failed.items()],
    }


def _row(hit: Hit) -> dict[str, Any]:
    one, found = hit.summary, hit.found
    place = found.place
    return {
        "session": hit.session.about.id or one.stored or one.path,
        "path": one.path or None,
        "stored": one.stored or None,
        "title": hit.session.about.title or one.title,
        "source": hit.session.about.source or one.source or None,
        **members(place, "thread call turn"),
        "digest": found.block.digest,
        "category": place.category,
        "label": hit.label,
        "hits": found.hits,
        "snippet": found.snippet,
        "span": [found.at, found.end],
    }
