"""What Home shows of a session at once, from its name and file times."""

from __future__ import annotations

from ctxtui.runtime.discover import Found
from ctxtui.views.home.summary import SAMPLES, SessionSummary


def glimpse(found: Found, now: float, live_seconds: float, owned: frozenset[str] = frozenset()) -> SessionSummary:
    """A session as its name and file times show it; `owned` are the paths that a running client owns."""
    return SessionSummary(
        key=str(found.path),
        title=found.path.name if found.group == SAMPLES else found.id,
        source=found.source,
        path=str(found.path),
        cwd=found.cwd,
        mtime=found.mtime,
        size=found.size,
        live=found.live(now, live_seconds) or str(found.path) in owned,
        group=found.group,
    )
