"""What ``ctxtui lab --json`` prints: a contract (docs/json.md)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ctxtui.analysis.lab.report import LabRow, SessionLab
from ctxtui.cli.output import members


def lab_fields(found: Sequence[SessionLab]) -> dict[str, Any]:
    """The members of the outermost object."""
    return {"sessions": [_session(one) for one in found]}


def _session(one: SessionLab) -> dict[str, Any]:
    return {
        **members(one, "session title calls usable?"),
        "off": None if one.off is None else round(one.off, 6),
        "outcomes": [{"name": name, "value": value} for name, value in one.outcomes],
        "notes": list(one.notes),
        "variants": [_variant(row) for row in one.rows],
    }


def _variant(row: LabRow) -> dict[str, Any]:
    return {
        **members(
            row,
            "policy settings cache model calls peak_context=peak final_context=final total_input=total "
            "reported_total_input=reported read write fresh output",
        ),
        "cost_usd": None if row.usd is None else round(row.usd, 9),
        **members(row, "rewrites first_overflow dependence over_usable=over"),
        "summaries": {"count": row.summaries.count, "tokens": row.summaries.tokens},
        "contexts": list(row.curve),
        "refused": row.refused or None,
    }
