"""`ctxtui share`: write one call as an HTML page."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from ctxtui.analysis.call_choice import choose_call
from ctxtui.cli.context import (
    CALL_OPTION,
    FORCE_OPTION,
    NAME_HELP,
    THREAD_OPTION,
    SessionName,
    config_of,
    open_recording,
)
from ctxtui.cli.output import note, write_json
from ctxtui.cli.progress import counting
from ctxtui.core.errors import CtxtuiError
from ctxtui.curation.mask_rules import Level
from ctxtui.curation.masking import Masker, summarize_report
from ctxtui.services.config.package_data import mask_rules
from ctxtui.services.counting.books import book_for
from ctxtui.services.counting.counting import count_all
from ctxtui.services.editing.edited_context import WrittenContext
from ctxtui.services.editing.exporting import write_beside, write_private
from ctxtui.services.library.sharing import share_call
from ctxtui.services.recordings.databases.address import file_of
from ctxtui.views.pages.share_page import page


def mask_option(*, images: bool = False) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """The option ``--mask``; `images`: the output has images, so its help names them, too."""
    personal = "addresses, user names, images" if images else "addresses, user names"
    return click.option(
        "--mask",
        type=click.Choice([level.value for level in Level]),
        default=Level.PERSONAL.value,
        show_default=True,
        help=f"secrets: keys, tokens, passwords; personal: also {personal}; text: every letter.",
    )


def masker_of(level: str) -> Masker:
    return Masker(mask_rules(), Level(level))


def refuse_existing(path: Path | None, force: bool) -> None:
    """Raise `CtxtuiError` for a file that must not be replaced, before work that would be lost."""
    if path is not None and not force and path.exists():
        raise CtxtuiError("the file exists", place=str(path), way_out="choose another name, or add --force")


def refuse_source(path: Path | None, *recordings: str | Path | None) -> None:
    """Raise `CtxtuiError` if `path` is one of `recordings`, which --force does not replace."""
    files = [file_of(Path(name)) for name in recordings if name is not None]
    if path is not None and path.exists() and any(file.exists() and path.samefile(file) for file in files):
        raise CtxtuiError("cannot overwrite the recording itself", place=str(path), way_out="choose another name")


def emit(data: bytes, path: Path | None, *, replace: bool | None = None) -> None:
    """Write to standard output, or to a file like `write_private`."""
    if path is not None:
        write_private(path, data, replace=replace)
        return
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def emit_beside(written: WrittenContext, output: Path | None, source: Path | None) -> None:
    """Write the session's further files; without `output` only name them."""
    if output is not None:
        write_beside(output, written, source)
    elif written.beside:
        note(f"the session also needs {', '.join(written.beside)}: -o FOLDER writes all of it")


@click.command(
    "share",
    help="Write one self-contained HTML page with exactly what a call sent, with secrets masked.\n\n"
    f"NAME is {NAME_HELP}. Masked items are listed on standard error and on the page. Masking patterns are not "
    "complete: read the page before you share it.\n\n\b\n"
    "Example: ctxtui share session.jsonl --call 12 -o call-12.html\n"
    "Example: ctxtui share last -o call.html --mask secrets",
)
@click.argument("name", metavar="NAME", type=SessionName())
@CALL_OPTION
@THREAD_OPTION
@mask_option(images=True)
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), metavar="FILE", help="Write FILE (-: standard output)."
)
@FORCE_OPTION
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
    output = None if output == Path("-") else output
    if as_json and output is None:
        raise click.UsageError("--json needs -o: standard output is the page itself", context)
    refuse_existing(output, force)
    settings = config_of(context).settings
    loaded = open_recording(name, settings)
    refuse_source(output, *loaded.paths, loaded.path)
    chosen = choose_call(loaded.session, thread, number or 0)
    with counting(settings) as counter:
        book = book_for(loaded.session, counter, settings)
        count_all(book, counter)
    masker = masker_of(mask)
    data = page(share_call(book, chosen, masker, loaded.name, loaded.source)).encode("utf-8", "replace")
    emit(data, output, replace=force)
    if as_json:
        fields = {"path": str(output), "call": chosen.number, "bytes": len(data), "level": mask}
        write_json({**fields, "masked": dict(masker.report)})
    note(f"masked ({mask}): {summarize_report(masker.report)}")
