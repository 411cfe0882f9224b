"""`ctxtui hold show`: the held summary of a client's compaction, and what it loses."""

from __future__ import annotations

from typing import Any

import click

from ctxtui.analysis.content.compactions import preview_compaction
from ctxtui.attach.tape import file_name
from ctxtui.cli.context import config_of
from ctxtui.cli.exit_codes import WrongUse
from ctxtui.cli.inspect.compactions import compaction_json, compaction_lines
from ctxtui.cli.output import write, write_json
from ctxtui.cli.paint import Painter, width
from ctxtui.core.tree import ROOT
from ctxtui.services.config.paths import attached_dir
from ctxtui.services.counting.accounts import make_account
from ctxtui.services.counting.count_cache import cached_counter
from ctxtui.services.recordings.open import load
from ctxtui.views.text import safe_text


def show_summary(context: click.Context, request: dict[str, Any], as_json: bool) -> None:
    """Print the summary of the held compaction `request`, and what it loses.

    Raises `WrongUse` for a held request that is no compaction.
    """
    summary = request.get("summary")
    if not isinstance(summary, str):
        way_out = f"`ctxtui open {request['session']}` shows it"
        raise WrongUse(f"{request['id']} is a request: there is no summary to read", way_out=way_out)
    settings = config_of(context).settings
    loaded = load(attached_dir() / file_name(str(request["session"])))
    thread = str(request["thread"])
    with cached_counter(settings) as counter:
        book = make_account(loaded.session, counter, settings).book
    tip = loaded.session.threads[thread].tip if thread in loaded.session.threads else ROOT
    compaction = preview_compaction(book, thread, summary, tip or None)
    if as_json:
        own = compaction_json(compaction, loaded.session.tree) if compaction is not None else None
        write_json({"id": request["id"], "summary": summary, "pins": request.get("pins"), "compaction": own})
        return
    for line in summary.splitlines():
        write(safe_text.line(line))
    painter = Painter(settings.glyphs)
    if compaction is not None:
        painter.lines(compaction_lines([compaction], 0, every=False, room=width()))
    if request.get("pins"):
        pins = int(request["pins"])
        write(f"{pins:,} pinned block{'s' if pins > 1 else ''} will be added, word for word")
