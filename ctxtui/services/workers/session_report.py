"""Reports on a whole session, from a child process: they take longer than a frame."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final, Generic, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from ctxtui.analysis.cache.miss_finder import Misses
from ctxtui.analysis.call_choice import choose_call
from ctxtui.analysis.findings.priced import Findings
from ctxtui.analysis.growth.feasible import GrowthReport
from ctxtui.analysis.money.statement import Statement
from ctxtui.core import edit_json
from ctxtui.core.edit import Edit
from ctxtui.core.errors import CtxtuiError
from ctxtui.services.child_process import ChildGone
from ctxtui.services.config.settings import Settings
from ctxtui.services.counting.accounts import make_account
from ctxtui.services.counting.count_cache import cached_counter
from ctxtui.services.library.findings import price_findings
from ctxtui.services.library.growth import growth_report
from ctxtui.services.library.notebook import Notebook
from ctxtui.services.library.session_actions import is_subscription
from ctxtui.services.recordings.open_by_name import Named, locate, open_named
from ctxtui.services.recordings.recording import Loaded
from ctxtui.services.worker import Worker

T = TypeVar("T")


class Report(Struct, Generic[T], frozen=True):
    """A kind of report on a whole session.

    - `work`: computes it from the open session, its location, the settings and `about`.
    - `about`: the last argument of `work`: for growth a thread ("": the main one, or the first with calls), for
      findings see `findings_report`.
    - `activity`, `way_out`: what the process does, and what to do instead, for the error if it ends.
    """

    name: str
    work: Callable[[Loaded, Named, Settings, str], T]
    activity: str
    way_out: str
    about: str = ""


def _report_misses(loaded: Loaded, _: Named, settings: Settings, about: str) -> Misses:
    with cached_counter(settings) as counter:
        return make_account(loaded.session, counter, settings).misses()


def _report_statement(loaded: Loaded, named: Named, settings: Settings, about: str) -> Statement:
    with cached_counter(settings) as counter:
        statement = make_account(loaded.session, counter, settings).statement()
    statement.subscription = is_subscription(named, settings)
    return statement


def _report_growth(loaded: Loaded, _: Named, settings: Settings, about: str) -> GrowthReport:
    chosen, notes = choose_call(loaded.session, about), Notebook(loaded, settings).read()
    with cached_counter(settings) as counter:
        return growth_report(make_account(loaded.session, counter, settings), chosen, notes, settings.phases)


def _report_findings(loaded: Loaded, _: Named, settings: Settings, about: str) -> Findings:
    thread, number, edits = about.split("\n", 2)
    with cached_counter(settings) as counter:
        chosen = choose_call(loaded.session, thread, int(number))
        account = make_account(loaded.session, counter, settings)
        return price_findings(
            account, counter, chosen, settings, edit_json.loads(edits.encode("utf-8", "surrogatepass"))
        )


MISSES: Final = Report("misses", _report_misses, "looks for misses", "`ctxtui cache` lists them without the screen")
STATEMENT: Final = Report(
    "statement", _report_statement, "adds up the bill", "`ctxtui cost --why` prints it without the screen"
)
GROWTH: Final = Report("growth", _report_growth, "measures growth", "`ctxtui growth` prints it without the screen")
FINDINGS: Final = Report(
    "findings", _report_findings, "looks for findings", "`ctxtui findings` lists them without the screen"
)


def findings_report(thread: str, number: int, edits: Iterable[Edit]) -> Report[Findings]:
    """The report on findings of `thread` up to call `number` (from 1), with `edits` in force."""
    log = edit_json.dumps(edits).decode("utf-8", "surrogatepass")
    return replace(FINDINGS, about=f"{thread}\n{number}\n{log}")


def report(kind: Report[T], name: str, loaded: Loaded | None, settings: Settings) -> T:
    """Compute a report on the session `name` in a child process, or here if it is `loaded`.

    Raises `CtxtuiError` if the session cannot be read, lacks the thread or call, or if the process ends.
    """
    if loaded is not None:
        return kind.work(loaded, Named(), settings, kind.about)
    worker = Worker(locate, name, Path.cwd(), settings)
    try:
        return worker.call(_make_report, kind, settings)
    except ChildGone as error:
        raise CtxtuiError(f"the process that {kind.activity} ended", way_out=kind.way_out) from error
    finally:
        worker.close()


def _make_report(location: Named, kind: Report[T], settings: Settings) -> T:
    return kind.work(open_named(location, settings), location, settings, kind.about)
