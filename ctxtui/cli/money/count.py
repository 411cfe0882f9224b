"""`ctxtui count`: tokens and cost of files, before a model reads them."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from ctxtui.analysis.context_window import usable_tokens
from ctxtui.cli.context import JSON_OPTION, config_of, read_file
from ctxtui.cli.exit_codes import WrongUse, code_for
from ctxtui.cli.output import note, refuse, write_json
from ctxtui.cli.paint import Painter
from ctxtui.core.errors import CtxtuiError
from ctxtui.services.chat.model_choice import default_model
from ctxtui.services.counting.file_counts import FileCounts, count_files
from ctxtui.services.members import members
from ctxtui.views.lists.file_counts import lines


@click.command("count")
@click.argument("files", metavar="FILE...|-", nargs=-1, required=True, type=click.Path(path_type=Path, allow_dash=True))
@click.option("--model", metavar="ID", default="", help="The model (default: by settings and keys, else Claude).")
@JSON_OPTION
@click.pass_context
def count(context: click.Context, /, files: tuple[Path, ...], model: str, as_json: bool) -> int:
    """Count the tokens of files before a model reads them.

    Text, images and PDFs, with the 90 % interval of each figure and the list price of reading them once. - is standard
    input. Nothing is sent anywhere.

    \b
    Example: git diff | ctxtui count - --model claude-sonnet-5-5
    Example: ctxtui count docs/*.md
    """
    settings = config_of(context).settings
    failed: list[CtxtuiError] = []
    contents = list(_read(files, failed))
    if not contents:
        return refuse(failed[0], as_json=as_json)
    counts = count_files(contents, model or default_model(settings, os.environ), settings)
    if as_json:
        write_json(_counts_json(counts))
    else:
        painter = Painter(settings.glyphs)
        usable = usable_tokens(counts.card.window or 0, settings.usable_share, counts.card.usable)
        painter.lines(lines(counts.files, counts.half, counts.usd, counts.card.id, usable))
    for error in failed:
        note(str(error))
    return code_for(failed[0]).number if failed else 0


def _read(files: tuple[Path, ...], failed: list[CtxtuiError]) -> Iterator[tuple[str, bytes]]:
    """Name and content of each file; errors are added to `failed`.

    Raises `WrongUse` for a folder.
    """
    for path in files:
        if str(path) == "-":
            yield "-", sys.stdin.buffer.read()
            continue
        if path.is_dir():
            raise WrongUse(f"{path} is a folder", way_out=f"`ctxtui budget {path}` counts a project")
        try:
            yield str(path), read_file(path)
        except CtxtuiError as error:
            failed.append(error)


def _counts_json(counts: FileCounts) -> dict[str, Any]:
    card, total = counts.card, counts.tokens
    return {
        "model": card.id,
        "window": card.window,
        "tokens": total,
        "interval": [max(0, round(total - counts.half)), round(total + counts.half)],
        "cost_usd": counts.usd,
        "cached_usd": counts.cached_usd,
        "files": [
            {
                **members(file, "file=name kind bytes tokens method"),
                "interval": [max(0, round(file.tokens - file.half)), round(file.tokens + file.half)],
                "cost_usd": file.usd,
                "cached_usd": file.cached_usd,
                "pixels": [file.size.width, file.size.height] if file.size else None,
            }
            for file in counts.files
        ],
    }
