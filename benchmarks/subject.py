"""What of the measured ctxtui another checkout may lack (`--against` runs these benchmarks with that one's): all in one
place.

A name that is not there is None here, and `wanted` says so: the rows that need it are not run in that checkout, and no
others. Everything else that benchmarks import from ctxtui is as old as they are; a whole module that is missing there
takes the rows of its family along (`benchmarks.running`).
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Iterator
from importlib import import_module
from typing import Any

from benchmarks.measure import Lacking, Result, not_run


def wanted(**names: Any) -> None:
    """Raises `Lacking` where any of `names` is None."""
    gone = [name for name, value in names.items() if value is None]
    if gone:
        raise Lacking(f"no {', '.join(gone)}")


def unless_lacking(goal: str, name: str, rows: Iterator[Result]) -> Iterator[Result]:
    """`rows`; where the measured ctxtui lacks what they need, one that says so under `name`."""
    try:
        yield from rows
    except Lacking as why:
        yield not_run(goal, name, "", str(why))


def replace(record: Any, **members: Any) -> Any:
    """`record` with other members: of a class of the standard library in older checkouts, a struct's since."""
    if dataclasses.is_dataclass(record):
        return dataclasses.replace(record, **members)
    return import_module("ctxtui.dataclasses").replace(record, **members)


def answered(said: dict[str, Any], command: str) -> dict[str, Any]:
    """What `command` said as JSON; raises `Lacking` with its own words where that is an error, as of a command that the
    checkout does not have."""
    if "error" in said:
        raise Lacking(f"{command}: {said['error']['message']}")
    return said


def calibration(card: Any) -> Any:
    """What is known of the weights of a model that is counted whole; older checkouts make no difference there."""
    from ctxtui.tokens.calibrate import Calibration

    whole = "whole" in inspect.signature(Calibration).parameters
    return Calibration(card, whole=True) if whole else Calibration(card)


def rules_of(table: Any, call: Any, card: Any) -> Any:
    """How a call's prompt is cached; older checkouts ask for its model alone."""
    return table.of(call, card) if hasattr(table, "of") else table.rules(card)


def _of(module: str, name: str) -> Any:
    """`name` of a module of ctxtui; None where the checkout has no such module, or no such name in it."""
    try:
        return getattr(import_module(f"ctxtui.{module}"), name, None)
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] != "ctxtui":
            raise
        return None


body_sums, RequestCount = (_of("curation.price.request_count", name) for name in ("body_sums", "RequestCount"))
"""Counting a whole request under edits, for the price tag; before it, the tag counted prompts alone."""
policy_search = _of("curation.policies.search", "search")
"""The search over policies and pairs of them."""
COST, GROWTH_OF_ROUNDS, GROWTH_OF_TURNS = (
    _of("analysis.growth.units_ahead", name) or _of("analysis.growth.typical_units", name)
    for name in ("COST", "GROWTH_OF_ROUNDS", "GROWTH_OF_TURNS")
)
"""What all sources together teach of units ahead, as shipped."""
