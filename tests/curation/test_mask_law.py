"""The law of masks: a random secret at a random place of a random record is in no copy, export, page or report."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from ctxtui.analysis.call_choice import choose_call
from ctxtui.core.session import Session
from ctxtui.curation.mask_rules import Level
from ctxtui.curation.masking import Masker
from ctxtui.services.config.package_data import mask_rules
from ctxtui.services.config.settings import Settings
from ctxtui.services.counting.accounts import make_account
from ctxtui.services.counting.counting import Counter
from ctxtui.services.editing.edited_context import OWN
from ctxtui.services.editing.exporting import export_session, own_form
from ctxtui.services.library.report import draft_report, mask_report
from ctxtui.services.library.scrubbing import mask_session
from ctxtui.services.library.sharing import share_call
from ctxtui.services.recordings.recording import Loaded
from ctxtui.views.pages.report_page import ReportPage
from ctxtui.views.pages.report_page import page as report_page
from ctxtui.views.pages.share_page import page as share_page
from tests.curation.mask_cases import MaskCase, make_case
from tests.transcripts.reading import read

CHUNK = 8
"""Characters of a secret in a row that say too much of it."""
BATCH = 500
COUNTER = Counter()


def outputs(session: Session, level: Level, name: str = "x") -> dict[str, str]:
    """What the commands would write at `level` of `session`, which was read from the file `name`."""
    copy = mask_session(session, "copy", Masker(mask_rules(), level))
    thread = next(iter(copy.order), "main")
    made = {"copy": export_session(copy, OWN, choose_call(copy, thread, 0)).data.decode()}
    chosen = choose_call(copy, thread, 0)
    made["export"] = export_session(copy, own_form(chosen), chosen).data.decode()
    told = make_account(session, COUNTER, Settings())
    masker = Masker(mask_rules(), level)
    made["page"] = share_page(share_call(told.book, choose_call(session, thread, 0), masker, name, name))
    one = mask_report(draft_report(Loaded(session, name), COUNTER, Settings()), Masker(mask_rules(), level))
    made["report"] = report_page(
        ReportPage(title=one.title, sessions=(one,), rest=0, level=level, masked=(), failed=())
    )
    return made


def survivors(case: MaskCase, made: dict[str, str]) -> list[tuple[str, str]]:
    """Where a piece of what must be gone still is."""
    found = []
    for name, text in made.items():
        for secret in case.gone:
            pieces = {secret[i : i + CHUNK] for i in range(max(1, len(secret) - CHUNK + 1))}
            found += [(name, piece) for piece in pieces if piece in text][:1]
    return found


def check(seed: int) -> None:
    case = make_case(seed, mask_rules())
    session = read(case.data, case.name)
    assert any(call for call in session.calls.values()), case.told
    about, name = case.about, case.about.get("name", "x")
    session.about = replace(
        session.about, title=about.get("title", session.about.title), cwd=about.get("cwd", session.about.cwd)
    )
    left = survivors(case, outputs(session, Level(case.level), name))
    assert not left, (seed, case.told, left, case.data.decode()[:3000])


@settings(max_examples=100)  # 20,000 below, in `make test-all`
@given(st.integers(0, 10**9))
def test_no_secret_gets_into_a_copy_an_export_a_page_or_a_report(seed: int) -> None:
    check(seed)


@pytest.mark.slow
@pytest.mark.parametrize("batch", range(40))
def test_20_000_secrets_get_nowhere(batch: int) -> None:
    for seed in range(batch * BATCH, (batch + 1) * BATCH):
        check(seed)
