"""Reports on a whole session, each worked out in a process of its own: reading, counting and the price library take
longer than a frame may."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final, Generic, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from ctxtui.analysis.cache.misses import Misses
from ctxtui.analysis.call_choice import choose
from ctxtui.analysis.findings.priced import Findings
from ctxtui.analysis.growth.feasible import GrowthReport
from ctxtui.analysis.money.statement import Statement
from ctxtui.core import edit_json
from ctxtui.core.edit import Edit
from ctxtui.core.errors import CtxtuiError
from ctxtui.core.session import Session
from ctxtui.services.child_process import ChildGone
from ctxtui.services.config.settings import Settings
from ctxtui.services.counting.accounts import make_account
from ctxtui.services.counting.count_cache import cached_counter
from ctxtui.services.counting.counting import Counter
from ctxtui.services.library.findings import findings_of
from ctxtui.services.library.growth import growth_report
from ctxtui.services.library.session_actions import subscribed
from ctxtui.services.recordings.open_by_name import Named, locate, open_named
from ctxtui.services.recordings.recording import Loaded
from ctxtui.services.worker import Worker

T = TypeVar("T")
Made = TypeVar("Made", covariant=True)


class Report(Struct, Generic[Made], frozen=True, dict=True):
    """One kind of report. `work` makes it of a session that is read, under the name that stands for it, and of what in
    it the report is `about` (a thread; "": all). Where the process ends before it answers, `does` says what it was
    doing and `way_out` what to do instead."""

    name: str
    work: Callable[[Loaded, Named, Settings, str], Made]
    does: str
    way_out: str
    about: str = ""


def missed(session: Session, counter: Counter, settings: Settings) -> Misses:
    """The misses of `session`."""
    return make_account(session, counter, settings).misses()


def _misses(loaded: Loaded, _: Named, settings: Settings, about: str) -> Misses:
    with cached_counter(settings) as counter:
        return missed(loaded.session, counter, settings)


def _statement(loaded: Loaded, named: Named, settings: Settings, about: str) -> Statement:
    with cached_counter(settings) as counter:
        made = make_account(loaded.session, counter, settings).statement()
    made.subscription = subscribed(named, settings)
    return made


def _growth(loaded: Loaded, _: Named, settings: Settings, about: str) -> GrowthReport:
    with cached_counter(settings) as counter:
        return growth_report(make_account(loaded.session, counter, settings), choose(loaded.session, about))


def _findings(loaded: Loaded, _: Named, settings: Settings, about: str) -> Findings:
    thread, number, edits = about.split("\n", 2)
    with cached_counter(settings) as counter:
        chosen = choose(loaded.session, thread, int(number))
        made = make_account(loaded.session, counter, settings)
        return findings_of(made, counter, chosen, settings, edit_json.loads(edits.encode("utf-8", "surrogatepass")))


MISSES: Final = Report("misses", _misses, "looks for misses", "ctxtui cache says them without one")
"""What the cache missed, and why."""
STATEMENT: Final = Report("statement", _statement, "adds up the bill", "ctxtui cost --why says it without one")
"""The session's bill."""
GROWTH: Final = Report("growth", _growth, "measures growth", "ctxtui growth says it without one")
"""How the context of a thread grew, and where that leads."""
FINDINGS: Final = Report("findings", _findings, "looks for findings", "ctxtui findings says them without one")
"""What is the case in a thread up to a call, and what cures it (`findings_report` says which)."""


def findings_report(thread: str, number: int, edits: Iterable[Edit]) -> Report[Findings]:
    """The report on the findings of `thread` up to call `number` (from 1), under the `edits` of its log."""
    log = edit_json.dumps(edits).decode("utf-8", "surrogatepass")
    return replace(FINDINGS, about=f"{thread}\n{number}\n{log}")


def report(kind: Report[T], name: str, loaded: Loaded | None, settings: Settings) -> T:
    """The report on the session that `name` stands for, or on `loaded` where it is read already: that is worked out
    here. Raises `CtxtuiError` where it cannot be read."""
    if loaded is not None:
        return kind.work(loaded, Named(), settings, kind.about)
    worker = Worker(locate, name, Path.cwd(), settings)
    try:
        return worker.call(_report, kind, settings)
    except ChildGone as error:
        raise CtxtuiError(f"the process that {kind.does} ended", way_out=kind.way_out) from error
    finally:
        worker.close()


def _report(found: Named, kind: Report[T], settings: Settings) -> T:
    return kind.work(open_named(found, settings), found, settings, kind.about)
