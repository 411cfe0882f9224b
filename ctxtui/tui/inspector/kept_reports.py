"""Reports on the session that is open, worked out once and kept until its recording has more."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar, cast

from ctxtui.services.session_source import SessionSource

if TYPE_CHECKING:
    from ctxtui.services.recordings.recording import Loaded
    from ctxtui.services.workers.session_report import Report

T = TypeVar("T")


class KeptReports:
    """The reports that `source` gave, each with how far the recording was read then."""

    def __init__(self, source: SessionSource) -> None:
        self._source = source
        self._kept: dict[str, tuple[object, Any]] = {}

    def of(self, kind: Report[T], loaded: Loaded) -> T:
        """The report of a kind; takes its time where it is not known, or there is more to report on."""
        read = id(loaded.session), loaded.bytes_read, len(loaded.session.calls)
        name = f"{kind.name} {kind.about}"
        kept = self._kept.get(name)
        if kept is None or kept[0] != read:
            kept = self._kept[name] = read, self._source.report(kind, loaded)
        return cast("T", kept[1])
