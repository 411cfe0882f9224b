"""What the lab and other markers are held against is the record: what was reported, paid and missed."""

from __future__ import annotations

from pathlib import Path

import pytest

from ctxtui.analysis.lab.recorded_steps import simulated_calls
from ctxtui.analysis.lab.variant import Variant
from ctxtui.core.errors import CtxtuiError
from ctxtui.core.session import Session
from ctxtui.services.config.settings import Settings
from ctxtui.services.counting.accounts import make_account
from ctxtui.services.counting.counting import Counter
from ctxtui.services.lab.experiment import lab_inputs_of_session, session_in_lab
from ctxtui.services.library.preflight import try_all_markers
from ctxtui.services.recordings.open import load
from tests.analysis.lab.test_as_recorded import MADE
from tests.corpus import every_recording
from tests.sampling import few

TRIED = [Variant(), Variant(cache="5m")]


def unlike(session: Session) -> list[str]:
    """Figures of the lab's first row, and of markers as recorded, that are not those of the bill and the reports."""
    counter, settings = Counter(), Settings()
    lab = session_in_lab(lab_inputs_of_session(session, counter, settings), TRIED, "it")
    found: list[str] = []
    if lab.rows:
        bill = make_account(session, counter, settings).statement().bill
        row, calls = lab.rows[0], simulated_calls(session)
        reports = [call.usage for call in calls if call.usage is not None]
        if row.usd is not None and row.usd != pytest.approx(bill.usd or 0.0, abs=1e-9):
            found.append(f"cost {row.usd} in the lab, {bill.usd} in the bill")
        if bill.usd and reports and row.usd is None:
            found.append("no cost in the lab")
        if row.usd is not None and row.at_least != bill.at_least:
            found.append(f"at least: {row.at_least} in the lab, {bill.at_least} in the bill")
        if row.rewrites != len(bill.rewrites):
            found.append(f"{row.rewrites} rewrites in the lab, {len(bill.rewrites)} in the bill")
        if len(reports) == len(calls) and row.curve != tuple(usage.input for usage in reports):
            found.append("other contexts than were reported")
        if reports and row.read is not None and row.read != sum(usage.cache_read for usage in reports):
            found.append(f"read {row.read}")
        for each in lab.rows:
            parts = each.read, each.write, each.fresh
            if None not in parts and sum(part or 0 for part in parts) != each.total:
                found.append(f"{each.cache}: parts {parts} of {each.total}")
    for one in try_all_markers(session, counter, settings):
        if not one.relative and one.own != pytest.approx(one.paid, abs=1e-9):
            found.append(f"markers of {one.thread}: {one.own} as recorded, {one.paid} paid")
    return found


@pytest.mark.parametrize("name", few(list(MADE), 3))
def test_it_is(name: str) -> None:
    assert unlike(MADE[name]()) == []


@pytest.mark.slow
@pytest.mark.parametrize("path", every_recording())
def test_it_is_for_every_recording(path: Path) -> None:
    try:
        session = load(path).session
    except CtxtuiError:
        pytest.skip("holds no context")
    assert unlike(session) == []
