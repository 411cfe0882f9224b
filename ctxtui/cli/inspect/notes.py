"""`ctxtui session notes`: notes and bookmarks, of one session or of all."""

from __future__ import annotations

import os
from typing import Any

import click

from ctxtui.analysis.content.notes import PlacedNote, SessionNotes, locate_notes
from ctxtui.cli.context import JSON_OPTION, NAME_HELP, SessionName, config_of, opened
from ctxtui.cli.output import write_json
from ctxtui.cli.paint import Painter, home_short
from ctxtui.core.tree import Tree
from ctxtui.services.config.settings import Settings
from ctxtui.services.library.notebook import Notebook, read_all_notes
from ctxtui.services.members import members
from ctxtui.services.recordings.recording import Loaded
from ctxtui.views.lists.notes import where
from ctxtui.views.text import safe_text
from ctxtui.views.text.signs import of_note
from ctxtui.views.text.span import Span


@click.command(
    "notes",
    help=f"Print the notes and bookmarks of a session, or of all sessions, newest first.\n\nNAME is {NAME_HELP}. They "
    "are set on the screen: `*` marks a block; the palette (`^p`) jots notes, and does the same for a call.\n\n\b\n"
    "Example: ctxtui session notes --json | jq -r '.notes[] | .text'\n"
    "Example: ctxtui session notes last",
)
@click.argument("name", metavar="[NAME]", type=SessionName(), required=False)
@JSON_OPTION
@click.pass_context
def notes(context: click.Context, name: str | None, as_json: bool) -> None:
    """Print notes and bookmarks."""
    config = config_of(context)
    if name is None:
        rows = [PlacedNote(note) for note in read_all_notes(config.settings)]
    else:
        rows = list(marked(opened(name, config.settings), config.settings).order)
    if as_json:
        write_json({"notes": [_note_json(one, placed=name is not None) for one in rows]})
    else:
        _print(Painter(config.settings.glyphs), rows, placed=name is not None)


def marked(loaded: Loaded, settings: Settings) -> SessionNotes:
    """The notes of a recording, and where they stand."""
    return locate_notes(loaded.session, Notebook(loaded, settings).read())


def of_context(found: SessionNotes, tree: Tree, head: int, call: str) -> list[dict[str, Any]]:
    """The notes on a call and on the blocks of its context, whose last one is `head`, as ``show --json`` has them."""
    nodes = set(tree.path(head)) if found.nodes else set()
    rows = [one for one in found.order if one.note.call == call and call]
    targets = {note.target for node, note in found.nodes.items() if node in nodes}
    rows += [one for one in found.order if one.note.target is not None and one.note.target in targets]
    return [_note_json(one, placed=True) for one in rows]


def _note_json(one: PlacedNote, *, placed: bool) -> dict[str, Any]:
    note = one.note
    return {
        **members(note, "session path? call_id=call?"),
        "digest": note.target.digest if note.target is not None else None,
        "occurrence": note.target.occurrence if note.target is not None else None,
        **members(note, "bookmark text about at"),
        **(members(one, "thread? call found") if placed else {}),
    }


def _print(painter: Painter, rows: list[PlacedNote], *, placed: bool) -> None:
    last = ""
    for one in rows:
        note = one.note
        if not placed and note.session != last:
            last = note.session
            gone = bool(note.path) and not os.path.exists(note.path)
            words = [Span(home_short(note.path) or note.session, "bold"), Span("  gone" if gone else "", "warn")]
            painter.line(words)
        text = [Span(f"  {safe_text.one_line(note.text)}")] if note.text else []
        place = [Span(f" {where(one)}  ", "dim")] if placed else [Span(" ")]
        on = "call" if note.target is None else "block"
        painter.line([Span("  "), of_note(note), *place, Span(f"{on}: {safe_text.one_line(note.about)}", "dim"), *text])
