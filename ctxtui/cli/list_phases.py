"""The phases of `ctxtui show`, as data and as lines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ctxtui.analysis.growth.phases import typical
from ctxtui.cli.list_asked import Asked
from ctxtui.cli.paint import rule, width
from ctxtui.views.lists import phases as view
from ctxtui.views.text.span import Span


def phases(asked: Asked) -> dict[str, Any]:
    """The member ``phases``: by rule and by the user's names, in order."""
    rows = asked.phases
    grown, each = typical(rows)
    return {
        "rule": asked.rule or None,
        "typical_growth": grown,
        "typical_growth_per_call": each,
        "phases": [
            {
                "name": row.name or None,
                "first_call": row.first,
                "last_call": row.last,
                "growth": row.growth,
                "end_tokens": row.end,
                "peak_tokens": row.peak,
                "input_tokens": row.sent,
                "output_tokens": row.answered,
                "cost_usd": row.usd,
                "named_by_user": row.own,
            }
            for row in rows
        ],
    }


def phase_lines(asked: Asked) -> Iterator[list[Span]]:
    """The phases for people."""
    rows = asked.phases
    yield rule("phases", "".join(span.text for span in view.summary(rows)))
    yield view.heads(width() - 1)
    most = max((row.growth for row in rows), default=0)
    for row in rows:
        shown = row.first <= asked.chosen.number <= row.last
        yield view.draw(row, most, width() - 1, here=False, shown=shown)
