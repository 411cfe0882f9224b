"""`ctxtui session notes`: notes and bookmarks of one session or of all."""

from __future__ import annotations

import os
from typing import Any

import click

from ctxtui.analysis.content.notes import PlacedNote, SessionNotes, locate_notes
from ctxtui.cli.context import JSON_OPTION, NAME_HELP, SessionName, config_of, open_recording
from ctxtui.cli.output import write_json
from ctxtui.cli.paint import Painter, abbreviate_home
from ctxtui.core.tree import Tree
from ctxtui.services.config.settings import Settings
from ctxtui.services.library.notebook import Notebook, read_all_notes
from ctxtui.services.members import members
from ctxtui.services.recordings.recording import Loaded
from ctxtui.views.lists.notes import describe_position
from ctxtui.views.text import safe_text
from ctxtui.views.text.signs import of_note
from ctxtui.views.text.span import Span


@click.command(
    "notes",
    help=f"Print the notes and bookmarks of a session, or of all sessions (newest first).\n\nNAME is {NAME_HELP}. Set "
    "them on the screen: `*` bookmarks a block; the palette (`^p`) has notes, and both for calls.\n\n\b\n"
    "Example: ctxtui session notes --json | jq -r '.notes[] | .text'\n"
    "Example: ctxtui session notes last",
)
@click.argument("name", metavar="[NAME]", type=SessionName(), required=False)
@JSON_OPTION
@click.pass_context
def notes(context: click.Context, name: str | None, as_json: bool) -> None:
    config = config_of(context)
    if name is None:
        rows = [PlacedNote(note) for note in read_all_notes(config.settings)]
    else:
        rows = list(notes_of(open_recording(name, config.settings), config.settings).order)
    if as_json:
        write_json({"notes": [_note_json(placed, placed=name is not None) for placed in rows]})
    else:
        _print(Painter(config.settings.glyphs), rows, placed=name is not None)


def notes_of(loaded: Loaded, settings: Settings) -> SessionNotes:
    return locate_notes(loaded.session, Notebook(loaded, settings).read())


def context_notes(session_notes: SessionNotes, tree: Tree, head: int, call: str) -> list[dict[str, Any]]:
    """Notes on a call and on the blocks of its context, which ends at `head`."""
    nodes = set(tree.path(head)) if session_notes.nodes else set()
    rows = [placed for placed in session_notes.order if placed.note.call == call and call]
    targets = {note.target for node, note in session_notes.nodes.items() if node in nodes}
    rows += [
        placed for placed in session_notes.order if placed.note.target is not None and placed.note.target in targets
    ]
    return [_note_json(placed, placed=True) for placed in rows]


def _note_json(placed_note: PlacedNote, *, placed: bool) -> dict[str, Any]:
    note = placed_note.note
    return {
        **members(note, "session path? call_id=call?"),
        "digest": note.target.digest if note.target is not None else None,
        "occurrence": note.target.occurrence if note.target is not None else None,
        **members(note, "bookmark text about at"),
        **(members(placed_note, "thread? call found=is_found") if placed else {}),
    }


def _print(painter: Painter, rows: list[PlacedNote], *, placed: bool) -> None:
    last = ""
    for placed_note in rows:
        note = placed_note.note
        if not placed and note.session != last:
            last = note.session
            is_missing = bool(note.path) and not os.path.exists(note.path)
            name = Span(abbreviate_home(note.path) or note.session, "bold")
            painter.line([name, Span("  gone" if is_missing else "", "warn")])
        text = [Span(f"  {safe_text.one_line(note.text)}")] if note.text else []
        place = [Span(f" {describe_position(placed_note)}  ", "dim")] if placed else [Span(" ")]
        target = "call" if note.target is None else "block"
        painter.line(
            [Span("  "), of_note(note), *place, Span(f"{target}: {safe_text.one_line(note.about)}", "dim"), *text]
        )
