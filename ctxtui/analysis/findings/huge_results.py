"""Finding: tool results that are very large."""

from __future__ import annotations

from collections.abc import Iterator

from ctxtui.analysis.findings.finding import Finding, FindingInputs, cured_by, weighed
from ctxtui.curation.policies.situation import Settings
from ctxtui.curation.policies.tool_results import tool_of

KIND = "huge results"
NEWEST = 3
"""Number of newest results that are left whole."""


def find(given: FindingInputs) -> Iterator[Finding]:
    """Report results and code blocks so large that they should be externalized."""
    wanted: Settings = {"keep_last": NEWEST}
    edits = given.proposed("externalize_large", wanted)
    about = weighed(given, edits)
    if about is None:
        return
    here = given.situation
    at = [p for edit in edits for target in edit.targets if (p := here.context.find(target)) is not None]
    tools = dict.fromkeys(name for p in sorted(at, key=lambda p: -here.size(p)) if (name := tool_of(here, p)))
    of = " (of {names})" if tools else ""
    one = about.count == 1
    yield cured_by(
        edits,
        about,
        kind=KIND,
        says=f"{{count}} block{'' if one else 's'}{of} {'is' if one else 'are'} very large: {{tokens}} in every "
        "call{so_far}",
        cure=f"externalize {{count}} very large block{'' if one else 's'}",
        names=tuple(tools),
        policy="externalize_large",
        given=wanted,
    )
