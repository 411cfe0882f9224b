"""What ``ctxtui lab --json`` prints: a contract (docs/json.md)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ctxtui.analysis.lab.report import LabRow, SessionLab


def lab_fields(found: Sequence[SessionLab]) -> dict[str, Any]:
    """The members of the outermost object."""
    return {"sessions": [_session(one) for one in found]}


def _session(one: SessionLab) -> dict[str, Any]:
    return {
        "session": one.session,
        "title": one.title,
        "calls": one.calls,
        "usable": one.usable or None,
        "off": None if one.off is None else round(one.off, 6),
        "outcomes": [{"name": name, "value": value} for name, value in one.outcomes],
        "notes": list(one.notes),
        "variants": [_variant(row) for row in one.rows],
    }


def _variant(row: LabRow) -> dict[str, Any]:
    return {
        "policy": row.policy,
        "settings": row.settings,
        "cache": row.cache,
        "model": row.model,
        "calls": row.calls,
        "peak_context": row.peak,
        "final_context": row.final,
        "total_input": row.total,
        "reported_total_input": row.reported,
        "read": row.read,
        "write": row.write,
        "fresh": row.fresh,
        "output": row.output,
        "cost_usd": None if row.usd is None else round(row.usd, 9),
        "rewrites": row.rewrites,
        "first_overflow": row.first_overflow,
        "dependence": row.dependence,
        "over_usable": row.over,
        "summaries": {"count": row.summaries.count, "tokens": row.summaries.tokens},
        "contexts": list(row.curve),
        "refused": row.refused or None,
    }
