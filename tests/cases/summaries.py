"""What Home shows of a recording, read here."""

from __future__ import annotations

from pathlib import Path

from ctxtui.services.config.settings import Settings
from ctxtui.services.counting.counting import Counter
from ctxtui.services.workers.summary_worker import summarize
from ctxtui.views.model.session_summary import SessionSummary


def summarise(path: Path, settings: Settings) -> SessionSummary:
    """The figures of the recording in `path`. Raises what `load` raises."""
    found = path.stat()
    seen = SessionSummary(key=str(path), title=path.name, path=str(path), mtime=found.st_mtime, size=found.st_size)
    return summarize(seen, settings, Counter())
