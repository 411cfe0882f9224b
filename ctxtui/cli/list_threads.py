"""The threads and the tools of `ctxtui show`, as data and as lines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ctxtui.analysis.content.tools import totals as tool_totals
from ctxtui.cli.list_asked import Asked
from ctxtui.cli.paint import rule, width
from ctxtui.views.inspector import threads as thread_view
from ctxtui.views.inspector import toolset
from ctxtui.views.text.span import Span


def threads(asked: Asked) -> list[dict[str, Any]]:
    """The member ``threads``: as a tree, in order."""
    return [
        {
            "id": kin.id,
            "label": kin.label,
            "parent": kin.parent or None,
            "depth": kin.depth,
            "after_call": kin.since or None,
            "model": kin.model or None,
            "calls": kin.calls,
            "context_tokens": kin.tokens,
            "peak_tokens": kin.peak,
            "input_tokens": kin.sent,
            "output_tokens": kin.answered,
            "cost_usd": kin.usd,
            "compactions": kin.folds,
        }
        for kin in asked.family
    ]


def thread_lines(asked: Asked) -> Iterator[list[Span]]:
    """The threads for people."""
    rows = asked.family
    yield rule("threads", f"{len(rows):,}")
    yield thread_view.heads(width() - 1)
    for kin in rows:
        yield thread_view.draw_kin(kin, width() - 1, shown=kin.id == asked.chosen.thread, here=False)


def tools(asked: Asked) -> list[dict[str, Any]]:
    """The member ``tools``: by server."""
    return [
        {
            "server": server.name or None,
            "tokens": server.tokens,
            "calls": server.calls,
            "never_called": server.unused,
            "tools": [
                {"name": tool.name or None, "tokens": tool.tokens, "state": tool.state, "calls": tool.calls}
                for tool in server.tools
            ],
        }
        for server in asked.servers
    ]


def tool_lines(asked: Asked) -> Iterator[list[Span]]:
    """The tools for people."""
    servers = asked.servers
    source = asked.book.session.about.source
    what = toolset.Toolset(tuple(servers), *tool_totals(servers), source)
    yield rule("tools", "".join(span.text for span in toolset.notes(what)))
    most = max((tool.tokens or 0 for server in servers for tool in server.tools), default=0)
    for row in toolset.rows(servers):
        yield toolset.draw(row, most, width() - 1, source=source, here=False)
