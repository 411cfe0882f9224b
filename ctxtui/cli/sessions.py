"""`ctxtui sessions`: what can be opened, newest first."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from ctxtui.cli.context import config_of
from ctxtui.cli.output import write_json
from ctxtui.cli.paint import Painter, home_short, width
from ctxtui.runtime.discover import Found, find
from ctxtui.runtime.packaged import sample_paths
from ctxtui.runtime.settings import Settings
from ctxtui.views import cells, numbers
from ctxtui.views.span import Span


@click.command("sessions")
@click.option("--here", is_flag=True, help="Only those of this directory and its worktrees.")
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="At most N sessions.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON (schema_version 1).")
@click.pass_context
def sessions(context: click.Context, here: bool, limit: int | None, as_json: bool) -> None:
    """List the sessions that can be opened: Claude Code's, Codex's, ctxtui's own, samples; newest first.

    \b
    Example: ctxtui show "$(ctxtui sessions --json | jq -r '.sessions[0].id')"
    """
    config = config_of(context)
    found = [f for f in find(Path.cwd(), samples=sample_paths()) if not here or f.group == "here"][:limit]
    now = time.time()
    if as_json:
        write_json({"sessions": _rows(found, config.settings, now)})
    else:
        _print(found, config.settings, now)


def _rows(found: Sequence[Found], settings: Settings, now: float) -> list[dict[str, Any]]:
    tally: dict[str, int] = {}
    for one in found:
        tally[one.id] = tally.get(one.id, 0) + 1
    # An id that two files share would not open either: then the path is the id.
    return [
        {
            "id": one.id if tally[one.id] == 1 else str(one.path),
            "source": one.source,
            "path": str(one.path),
            "cwd": one.cwd or None,
            "group": one.group,
            "size": one.size,
            "modified": one.mtime,
            "live": one.live(now, settings.live_seconds),
        }
        for one in found
    ]


def _print(found: Sequence[Found], settings: Settings, now: float) -> None:
    painter = Painter(settings.glyphs)
    room = max(20, width() - 58)
    for one in found:
        live = one.live(now, settings.live_seconds)
        painter.line(
            [
                Span("● " if live else "  ", "ok"),
                Span(cells.left(one.id, 36) + "  "),
                Span(cells.right(numbers.ago(now - one.mtime), 5) + "  ", "dim"),
                Span(cells.left(one.source or one.group, 11) + "  ", "dim"),
                Span(cells.fit(one.cwd or one.project or home_short(str(one.path.parent)), room), "dim"),
            ]
        )
