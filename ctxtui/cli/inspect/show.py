"""`ctxtui show`: what one call's context holds, as text or JSON."""

from __future__ import annotations

from typing import Any

import click

from ctxtui.analysis.book import Book
from ctxtui.analysis.call_choice import ChosenCall, choose
from ctxtui.cli.context import NAME_HELP, SessionName, config_of, opened
from ctxtui.cli.inspect import show_json
from ctxtui.cli.inspect.list_inputs import ListInputs
from ctxtui.cli.inspect.lists import as_fields, print_lists
from ctxtui.cli.inspect.notes import marked, of_context
from ctxtui.cli.inspect.show_text import print_text
from ctxtui.cli.output import write_json
from ctxtui.cli.progress import counting
from ctxtui.services.config.settings import Settings
from ctxtui.services.counting.books import book_for
from ctxtui.services.counting.counting import count_all
from ctxtui.services.recordings.recording import Loaded
from ctxtui.tokens.estimators import ESTIMATORS


@click.command(
    "show",
    help=f"Print what one call's context holds: its blocks with tokens, what adds up to them.\n\n"
    f"NAME is {NAME_HELP}.\n\n\b\nExample: ctxtui show session.jsonl --call 12 --json | jq .residual\n"
    "Example: ctxtui show last --heaviest",
)
@click.argument("name", metavar="NAME", type=SessionName())
@click.option(
    "--call", "number", type=click.IntRange(min=1), metavar="N", help="The thread's Nth call (default: last)."
)
@click.option("--thread", default="", metavar="T", help="A subagent's thread (default: the main one).")
@click.option("--blocks", is_flag=True, help="Print every block in prompt order, not only the heaviest.")
@click.option(
    "--by", type=click.Choice(("category", "label")), default="category", help="What the tokens are added up by."
)
@click.option("--threads", is_flag=True, help="List the threads: calls, peaks, costs.")
@click.option("--tools", is_flag=True, help="List the tools by server: tokens, loaded or deferred, calls.")
@click.option("--heaviest", is_flag=True, help="List blocks by carry (tokens x calls they stayed), and how cacheable.")
@click.option("--repeats", is_flag=True, help="List what stands elsewhere too, with the tokens that could go.")
@click.option(
    "--phases", is_flag=True, help="List phases: by your notes 'phase: ...', the setting phases, else by turn."
)
@click.option("--phase-rule", metavar="RULE", help="turn, epoch, call, or an expression such as 'Generation \\d+'.")
@click.option("--estimator", type=click.Choice(tuple(ESTIMATORS)), help="Count by a plain rule, as others do.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON (schema_version 1).")
@click.pass_context
def show(
    context: click.Context,
    /,
    name: str,
    number: int | None,
    thread: str,
    blocks: bool,
    by: str,
    estimator: str | None,
    as_json: bool,
    phase_rule: str | None,
    **lists: bool,
) -> None:
    """Print what one call's context holds."""
    config = config_of(context)
    loaded = opened(name, config.settings)
    chosen = choose(loaded.session, thread, number or 0)
    with counting(config.settings) as counter:
        book = book_for(loaded.session, counter, config.settings, estimator or "")
        count_all(book, counter)
    asked = {name for name, wanted in lists.items() if wanted} | ({"phases"} if phase_rule else set())
    rule = phase_rule or config.settings.phases
    if as_json:
        fields = show_json.as_json(book, chosen, loaded.skipped, loaded.name, loaded.source, config.settings)
        fields["notes"] = _notes(chosen, loaded, config.settings)
        write_json({**fields, **(_lists(book, chosen, loaded, config.settings, rule, asked) if asked else {})})
    elif asked:
        print_lists(ListInputs(book, chosen, loaded, config.settings, rule), asked)
    else:
        print_text(book, chosen, loaded, config.settings, every_block=blocks, by_label=by == "label")


def _notes(chosen: ChosenCall, loaded: Loaded, settings: Settings) -> list[dict[str, Any]]:
    call = chosen.call
    return of_context(marked(loaded, settings), loaded.session.tree, call.response_head or call.sent_head, call.id)


def _lists(
    book: Book, chosen: ChosenCall, loaded: Loaded, settings: Settings, rule: str, asked: set[str]
) -> dict[str, Any]:
    return as_fields(ListInputs(book, chosen, loaded, settings, rule), asked)
