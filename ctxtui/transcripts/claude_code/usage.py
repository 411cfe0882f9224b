"""Usage of a Claude Code call: the provider's report, and whether the answer's end was recorded."""

from __future__ import annotations

from dataclasses import replace

from ctxtui.core.canonical import Json
from ctxtui.core.usage import Usage
from ctxtui.wire import usage


def usage_of(reported: Json, final: bool = True) -> Usage | None:
    """The usage in a message; None where there is none, or only zeros: no call has an empty input.

    `final` says whether the record has a stop reason; without one the output is a count so far.
    """
    found, _ = usage.anthropic_passes(reported)
    return replace(found, output_final=final) if found is not None and found.input else None
