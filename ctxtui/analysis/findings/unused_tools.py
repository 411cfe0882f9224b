"""Finding: definitions of tools that were never called."""

from __future__ import annotations

from collections.abc import Iterator

from ctxtui.analysis.content.tools import used
from ctxtui.analysis.findings.finding import Finding, FindingInputs, cured_by, weighed
from ctxtui.curation.policies.situation import Settings

KIND = "unused tools"
ROUNDS = 3
"""Minimum number of rounds before an uncalled tool counts as unused."""


def find(given: FindingInputs) -> Iterator[Finding]:
    """Report tools of the context that no call of the thread has used so far."""
    called = sorted({name for _, name in used(given.situation.context.tree, given.calls)})
    wanted: Settings = {"rounds": ROUNDS, "keep": called}
    edits = given.proposed("drop_unused_tools", wanted)
    about = weighed(given, edits)
    if about is None:
        return
    context = given.situation.context
    at = [p for edit in edits for target in edit.targets if (p := context.find(target)) is not None]
    # The heaviest are named first.
    names = [context.reading(p).name for p in sorted(at, key=lambda p: -given.situation.size(p))]
    many = len(names) != 1
    yield cured_by(
        edits,
        about,
        kind=KIND,
        says=f"{{names}} {'were' if many else 'was'} never called in {{calls}}: {{tokens}} in every call{{so_far}}",
        cure=f"drop {{count}} unused tool{'s' if many else ''}",
        calls=len(given.calls),
        count=len(names),
        names=tuple(f"tool {name}" if not many else name for name in names),
        policy="drop_unused_tools",
        given=wanted,
    )
