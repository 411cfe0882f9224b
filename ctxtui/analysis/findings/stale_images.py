"""Finding: images that the model saw long ago."""

from __future__ import annotations

from collections.abc import Iterator

from ctxtui.analysis.findings.finding import Finding, FindingInputs, cured_by, weighed

KIND = "stale images"


def find(given: FindingInputs) -> Iterator[Finding]:
    """Report images of all messages but the newest that has any."""
    edits = given.proposed("strip_images")
    about = weighed(given, edits)
    if about is not None:
        one = about.count == 1
        yield cured_by(
            edits,
            about,
            kind=KIND,
            says=f"{{count}} image{'' if one else 's'} of earlier messages {'is' if one else 'are'} still sent: "
            "{tokens} in every call{so_far}",
            cure=f"take out {{count}} image{'' if one else 's'} that the model has seen",
            policy="strip_images",
        )
