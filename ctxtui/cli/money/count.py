"""`ctxtui count`: what files would come to, before any model reads them."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from ctxtui.analysis.context_window import window_of_running_model
from ctxtui.cli.context import JSON_OPTION, config_of
from ctxtui.cli.exit_codes import NOT_FOUND, UNREADABLE, WrongUse
from ctxtui.cli.output import note, write_json
from ctxtui.cli.paint import Painter
from ctxtui.services.chat.model_choice import default_model
from ctxtui.services.counting.file_counts import FileCounts, count_files
from ctxtui.services.members import members
from ctxtui.views.lists.file_counts import lines


@click.command("count")
@click.argument("files", metavar="FILE...|-", nargs=-1, required=True, type=click.Path(path_type=Path, allow_dash=True))
@click.option("--model", metavar="ID", default="", help="Who would read them; by default the model of a new chat.")
@JSON_OPTION
@click.pass_context
def count(context: click.Context, /, files: tuple[Path, ...], model: str, as_json: bool) -> int:
    """Count tokens of files before anyone reads them.

    Text, images and PDFs, with the 90 % interval of each figure and the list price of reading them once. - is standard
    input. Nothing is sent to anyone.

    \b
    Example: git diff | ctxtui count - --model claude-sonnet-5-5
    Example: ctxtui count docs/*.md
    """
    settings = config_of(context).settings
    troubles: list[int] = []
    read = list(_read(files, troubles))
    if not read:
        return troubles[0]
    found = count_files(read, model or default_model(settings, os.environ), settings)
    if as_json:
        write_json(_counts_json(found))
    else:
        painter = Painter(settings.glyphs)
        usable = window_of_running_model(
            found.card.window or 0, settings.usable_share, own=found.card.usable or 0
        ).usable
        painter.lines(lines(found.files, found.half, found.usd, found.card.id, usable))
    return troubles[0] if troubles else 0


def _read(files: tuple[Path, ...], troubles: list[int]) -> Iterator[tuple[str, bytes]]:
    """Name and content of each file; what cannot be read is said, and the others are counted all the same."""
    for path in files:
        if str(path) == "-":
            yield "-", sys.stdin.buffer.read()
            continue
        if path.is_dir():
            raise WrongUse(f"{path} is a folder", way_out=f"`ctxtui budget {path}` counts a project")
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            note(f"no such file: {path}")
            troubles.append(NOT_FOUND.number)
        except OSError as error:
            note(f"{path} cannot be read: {error.strerror}")
            troubles.append(UNREADABLE.number)
        else:
            yield str(path), data


def _counts_json(found: FileCounts) -> dict[str, Any]:
    card, total = found.card, found.tokens
    return {
        "model": card.id,
        "window": card.window,
        "tokens": total,
        "interval": [max(0, round(total - found.half)), round(total + found.half)],
        "cost_usd": found.usd,
        "cached_usd": found.cached_usd,
        "files": [
            {
                **members(one, "file=name kind bytes tokens method"),
                "interval": [max(0, round(one.tokens - one.half)), round(one.tokens + one.half)],
                "cost_usd": one.usd,
                "cached_usd": one.cached_usd,
                "pixels": [one.size.width, one.size.height] if one.size else None,
            }
            for one in found.files
        ],
    }
