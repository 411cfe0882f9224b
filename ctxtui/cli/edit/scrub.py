"""`ctxtui session scrub`: a masked copy of a session in the database."""

from __future__ import annotations

from typing import Final

import click

from ctxtui.cli.context import JSON_OPTION, NAME_HELP, SessionName, config_of, opened
from ctxtui.cli.edit.share import mask_option, masker_of
from ctxtui.cli.output import answer, note, shown
from ctxtui.cli.progress import Working
from ctxtui.curation.masking import summarize_report
from ctxtui.services.config.paths import database
from ctxtui.services.counting.pricing import make_call_pricer, prices_for
from ctxtui.services.library.scrubbing import mask_session
from ctxtui.store.rows import SourceInfo
from ctxtui.store.store import Store

MASKED: Final = "masked"
"""The tag by which lists tell a masked copy from what it is a copy of."""


@click.command(
    "scrub",
    help=f"Write a masked copy of a session into the database; the session itself stays as it is.\n\n"
    f"NAME is {NAME_HELP}. What was masked is counted. Patterns find much and not all: look at the copy before you "
    "give it away.\n\n\b\n"
    "Example: ctxtui session scrub 7f3a && ctxtui export 7f3a-scrubbed --to ctxtui -o copy.jsonl\n"
    "Example: ctxtui export last --to openai-chat",
)
@click.argument("name", metavar="NAME", type=SessionName())
@mask_option(images=True)
@click.option("--as", "new", metavar="ID", default="", help="The copy's id (default: the session's, with -scrubbed).")
@JSON_OPTION
@click.pass_context
def scrub(context: click.Context, name: str, mask: str, new: str, as_json: bool) -> None:
    """Write a masked copy."""
    settings = config_of(context).settings
    session = opened(name, settings).session
    masker = masker_of(mask)
    with Working("masking"), Store.open(database(settings.data_dir)) as store:
        copy = mask_session(session, new or masker.mask_word(f"{session.about.id or 'session'}-scrubbed"), masker)
        id_ = store.import_session(
            copy, SourceInfo(format=copy.about.source), price=make_call_pricer(prices_for(settings))
        )
        store.tag(id_, (MASKED,))
    answer(as_json, {"id": id_, "of": session.about.id, "level": mask, "masked": dict(masker.report)}, shown(id_))
    note(f"masked ({mask}): {summarize_report(masker.report)}")
