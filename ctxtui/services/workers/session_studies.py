"""What commands find out about one session after the other, here or in the processes of a cluster
(`services.session_work`): the lab, forecasts held against reports, figures that limits are about."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final, NamedTuple

from ctxtui.analysis.lab.report import SessionLab
from ctxtui.analysis.lab.variant import Variant
from ctxtui.analysis.money.limits import Limits
from ctxtui.services.config.settings import Settings
from ctxtui.services.counting.books import Audit, audit
from ctxtui.services.counting.count_cache import counter_with_memory
from ctxtui.services.counting.counting import Counter
from ctxtui.services.lab.experiment import bench_of, keep_loaded, session_in_lab
from ctxtui.services.lab.solve import SolvedSession, tried
from ctxtui.services.library.limit_checks import MeasuredRecording, measured
from ctxtui.services.library.report import ReportDraft, drafted
from ctxtui.services.recordings.open_by_name import Named, open_named
from ctxtui.services.recordings.recording import Loaded
from ctxtui.services.session_work import Say

LAB: Final = "ctxtui.services.workers.session_studies:lab"
SOLVE: Final = "ctxtui.services.workers.session_studies:solve"
AUDIT: Final = "ctxtui.services.workers.session_studies:audited"
REPORT: Final = "ctxtui.services.workers.session_studies:drafted_report"
CHECK: Final = "ctxtui.services.workers.session_studies:checked"


class LabAsked(NamedTuple):
    """Which variants are tried."""

    settings: Settings
    variants: Sequence[Variant]


class CheckAsked(NamedTuple):
    """The limits that recordings are held against."""

    settings: Settings
    limits: Limits


class AuditAsked(NamedTuple):
    """By which `estimator` tokens are counted ("": our own)."""

    settings: Settings
    estimator: str


class ReportAsked(NamedTuple):
    """What a report says of the session, or of call `number` of its `thread` (0: of the whole)."""

    settings: Settings
    thread: str = ""
    number: int = 0


@contextmanager
def counted(
    named: Named, settings: Settings, say: Say, doing: str = "counting tokens"
) -> Iterator[tuple[Loaded, Counter]]:
    """The session that is read, and what counts it. Raises what `open_named` raises."""
    loaded = open_named(named, settings, lambda done: say(f"read {done / 1_000_000:,.0f} MB"))
    say(doing)
    with counter_with_memory(settings) as counter:
        yield loaded, counter


def lab(named: Named, asked: LabAsked, say: Say) -> SessionLab:
    """The session under each variant. Raises what `open_named` raises."""
    settings, variants = asked
    with counted(named, settings, say) as (loaded, counter):
        bench = bench_of(loaded.session, counter, settings)
        keep_loaded()
        return session_in_lab(bench, variants, loaded.name, _calls(say, f"{len(variants)} variants"))


def solve(named: Named, settings: Settings, say: Say) -> SolvedSession:
    """The session under everything among which the best is sought. Raises what `open_named` raises."""
    with counted(named, settings, say) as (loaded, counter):
        bench = bench_of(loaded.session, counter, settings)
        keep_loaded()
        return tried(bench, loaded.name, settings, _calls(say, "everything that is sought among"))


def audited(named: Named, asked: AuditAsked, say: Say) -> Audit:
    """Every call of the session, foretold by the calls before it. Raises what `open_named` raises."""
    settings, estimator = asked
    with counted(named, settings, say, "foretelling") as (loaded, counter):
        return audit(loaded.session, counter, settings, estimator)


def checked(named: Named, asked: CheckAsked, say: Say) -> MeasuredRecording:
    """The figures of the session that limits are about. Raises what `open_named` raises."""
    settings, limits = asked
    with counted(named, settings, say) as (loaded, counter):
        return measured(loaded.session, counter, settings, limits)


def drafted_report(named: Named, asked: ReportAsked, say: Say) -> ReportDraft:
    """What is to be said of the session, before it is masked. Raises what `open_named` and `drafted` raise."""
    settings, thread, number = asked
    with counted(named, settings, say, "working out the report") as (loaded, counter):
        return drafted(loaded, counter, settings, thread, number)


def _calls(say: Say, under: str) -> Callable[[int, int], bool]:
    def told(done: int, of: int) -> bool:
        say(f"call {done:,} of {of:,} under {under}")
        return True

    return told
