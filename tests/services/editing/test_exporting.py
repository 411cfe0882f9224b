"""Exports of recorded calls: in their own dialect byte for byte, as a body and as a curl command."""

from __future__ import annotations

import pytest

from ctxtui.analysis.call_choice import choose_call
from ctxtui.services.editing.edited_context import BODIES
from ctxtui.services.editing.exporting import CURL, export_session, own_form
from ctxtui.wire.registry import DIALECTS
from tests.cases.sessions import session_in


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_recorded_request_is_exported_as_it_was_sent(dialect: str) -> None:
    session, body = session_in(dialect)
    chosen = choose_call(session)
    form = own_form(chosen)
    assert form == dialect.replace("_", "-") and form in BODIES
    assert export_session(session, form, chosen).data == body
    command = export_session(session, CURL, chosen).data
    assert command.startswith(b"curl -sS http") and body in command
