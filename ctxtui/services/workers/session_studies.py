"""Works on one session for commands over many: lab, audit, limits, report.

Each function gets the location of a session, a request, and `say` for the progress; `services.session_work` runs it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final, NamedTuple

from ctxtui.analysis.lab.report import SessionLab
from ctxtui.analysis.lab.variant import Variant
from ctxtui.analysis.money.limits import Limits
from ctxtui.services.config.settings import Settings
from ctxtui.services.counting.books import Audit, audit_session
from ctxtui.services.counting.count_cache import cached_counter
from ctxtui.services.counting.counting import Counter
from ctxtui.services.lab.experiment import freeze_loaded, lab_inputs_of_session, session_in_lab
from ctxtui.services.lab.solve import SolvedSession, try_candidates
from ctxtui.services.library.limit_checks import MeasuredRecording, measure
from ctxtui.services.library.report import ReportDraft, draft_report
from ctxtui.services.recordings.open_by_name import Named, open_named
from ctxtui.services.recordings.recording import Loaded
from ctxtui.services.session_work import Say

LAB: Final = "ctxtui.services.workers.session_studies:lab"
SOLVE: Final = "ctxtui.services.workers.session_studies:solve"
AUDIT: Final = "ctxtui.services.workers.session_studies:audited"
REPORT: Final = "ctxtui.services.workers.session_studies:drafted_report"
CHECK: Final = "ctxtui.services.workers.session_studies:checked"


class LabRequest(NamedTuple):
    settings: Settings
    variants: Sequence[Variant]


class CheckRequest(NamedTuple):
    settings: Settings
    limits: Limits


class AuditRequest(NamedTuple):
    """`estimator` is the name of the one that counts ("": the models' tokenizers)."""

    settings: Settings
    estimator: str


class ReportRequest(NamedTuple):
    """A report on `thread` ("": the main one) up to call `number` (0: the last)."""

    settings: Settings
    thread: str = ""
    number: int = 0


@contextmanager
def open_counted(
    named: Named, settings: Settings, say: Say, doing: str = "counting tokens"
) -> Iterator[tuple[Loaded, Counter]]:
    """Open the session with a counter for it; `say` gets the progress, then `doing`.

    Raises what `open_named` raises.
    """
    loaded = open_named(named, settings, lambda done: say(f"read {done / 1_000_000:,.0f} MB"))
    say(doing)
    with cached_counter(settings) as counter:
        yield loaded, counter


def lab(named: Named, request: LabRequest, say: Say) -> SessionLab:
    settings, variants = request
    with open_counted(named, settings, say) as (loaded, counter):
        inputs = lab_inputs_of_session(loaded.session, counter, settings)
        freeze_loaded()
        return session_in_lab(inputs, variants, loaded.name, _report_calls(say, f"{len(variants)} variants"))


def solve(named: Named, settings: Settings, say: Say) -> SolvedSession:
    with open_counted(named, settings, say) as (loaded, counter):
        inputs = lab_inputs_of_session(loaded.session, counter, settings)
        freeze_loaded()
        return try_candidates(inputs, loaded.name, settings, _report_calls(say, "all candidates"))


def audited(named: Named, request: AuditRequest, say: Say) -> Audit:
    """Compare each call's report with its forecast from earlier calls."""
    settings, estimator = request
    with open_counted(named, settings, say, "forecasting") as (loaded, counter):
        return audit_session(loaded.session, counter, settings, estimator)


def checked(named: Named, request: CheckRequest, say: Say) -> MeasuredRecording:
    settings, limits = request
    with open_counted(named, settings, say) as (loaded, counter):
        return measure(loaded.session, counter, settings, limits)


def drafted_report(named: Named, request: ReportRequest, say: Say) -> ReportDraft:
    settings, thread, number = request
    with open_counted(named, settings, say, "computing the report") as (loaded, counter):
        return draft_report(loaded, counter, settings, thread, number)


def _report_calls(say: Say, under: str) -> Callable[[int, int], bool]:
    def report(done: int, of: int) -> bool:
        say(f"call {done:,} of {of:,} under {under}")
        return True

    return report
