"""`ctxtui share`: one call as a page that can be given away."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from ctxtui.analysis.call_choice import choose
from ctxtui.cli.context import NAME_HELP, SessionName, config_of, opened
from ctxtui.cli.output import note, write_json
from ctxtui.cli.progress import counting
from ctxtui.curation.mask_rules import Level
from ctxtui.curation.masking import Masker, summarize_report
from ctxtui.services.config.package_data import mask_rules
from ctxtui.services.counting.books import book_for
from ctxtui.services.counting.counting import count_all
from ctxtui.services.editing.exporting import write_private
from ctxtui.services.library.sharing import shared
from ctxtui.views.pages.share_page import page

_LEVELS = ("secrets", "personal", "text")


@click.command(
    "share",
    help="Write one self-contained HTML page of exactly what a call sent, with secrets masked.\n\n"
    f"NAME is {NAME_HELP}. What was masked is listed on standard error and on the page. Patterns find much and not "
    "everything: read the page before you give it away.\n\n\b\n"
    "Example: ctxtui share session.jsonl --call 12 -o call-12.html\n"
    "Example: ctxtui share last -o call.html --mask secrets",
)
@click.argument("name", metavar="NAME", type=SessionName())
@click.option(
    "--call", "number", type=click.IntRange(min=1), metavar="N", help="The thread's Nth call (default: last)."
)
@click.option("--thread", default="", metavar="T", help="A subagent's thread (default: the main one).")
@click.option(
    "--mask",
    type=click.Choice(_LEVELS),
    default="personal",
    show_default=True,
    help="secrets: keys, tokens, passwords; personal: also addresses, user names, images; text: every letter.",
)
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), metavar="FILE", help="Write FILE (-: standard output)."
)
@click.option("--force", is_flag=True, help="Replace FILE where there is one.")
@click.option("--json", "as_json", is_flag=True, help="With -o: print what was written and masked (schema_version 1).")
@click.pass_context
def share(
    context: click.Context,
    name: str,
    number: int | None,
    thread: str,
    mask: str,
    output: Path | None,
    force: bool,
    as_json: bool,
) -> None:
    """Write one call as a page."""
    output = None if output == Path("-") else output
    if as_json and output is None:
        raise click.UsageError("--json needs -o: standard output is the page itself", context)
    settings = config_of(context).settings
    loaded = opened(name, settings)
    chosen = choose(loaded.session, thread, number or 0)
    with counting(settings) as counter:
        book = book_for(loaded.session, counter, settings)
        count_all(book, counter)
    masker = Masker(mask_rules(), Level(mask))
    data = page(shared(book, chosen, masker, loaded.name, loaded.source)).encode("utf-8", "replace")
    if output is None:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
    else:
        write_private(output, data, replace=force)
    if as_json:
        fields = {"path": str(output), "call": chosen.number, "bytes": len(data), "level": mask}
        write_json({**fields, "masked": dict(masker.report)})
    note(f"masked ({mask}): {summarize_report(masker.report)}")
