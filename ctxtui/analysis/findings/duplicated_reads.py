"""Finding: the same file or result read several times."""

from __future__ import annotations

from collections.abc import Iterator

from ctxtui.analysis.findings.finding import Finding, FindingInputs, cured_by, weighed
from ctxtui.curation.policies.situation import Settings
from ctxtui.curation.policies.tool_results import path_of

KIND = "duplicated reads"


def find(given: FindingInputs) -> Iterator[Finding]:
    """Report results that are in the context twice, or outdated by a later read."""
    wanted: Settings = {"at_least": 200}
    edits = given.proposed("dedupe_reads", wanted)
    about = weighed(given, edits)
    if about is None:
        return
    here = given.situation
    at = [p for edit in edits for target in edit.targets if (p := here.context.find(target)) is not None]
    paths = dict.fromkeys(path for p in sorted(at, key=lambda p: -here.size(p)) if (path := path_of(here, p)))
    of = " ({names})" if paths else ""
    one = about.count == 1
    yield cured_by(
        edits,
        about,
        kind=KIND,
        says=f"{{count}} result{'' if one else 's'}{of} {'stands' if one else 'stand'} there again or "
        f"{'is' if one else 'are'} outdated: {{tokens}} in every call{{so_far}}",
        cure=f"replace {{count}} repeated or outdated result{'' if one else 's'} by a line",
        names=tuple(paths),
        policy="dedupe_reads",
        given=wanted,
    )
