"""Exports of recorded calls: in their own dialect byte for byte, as a body and as a curl command."""

from __future__ import annotations

from pathlib import Path

import pytest

from ctxtui.analysis.call_choice import choose_call
from ctxtui.core.errors import CtxtuiError
from ctxtui.services.editing.edited_context import BODIES
from ctxtui.services.editing.exporting import CURL, copy_session, export_session, own_form
from ctxtui.wire.registry import DIALECTS
from tests.cases import cline
from tests.cases.sessions import session_in
from tests.transcripts.driving import read


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_recorded_request_is_exported_as_it_was_sent(dialect: str) -> None:
    session, body = session_in(dialect)
    chosen = choose_call(session)
    form = own_form(chosen)
    assert form == dialect.replace("_", "-") and form in BODIES
    assert export_session(session, form, chosen).data == body
    command = export_session(session, CURL, chosen).data
    assert command.startswith(b"curl -sS http") and body in command


@pytest.mark.parametrize("id_", ["../outside", "/outside", "a**b", "*", "[x]", "x\0", "\ud800", "a" * 5000])
def test_a_session_whose_id_is_no_file_name_has_no_files_beside_it(tmp_path: Path, id_: str) -> None:
    folder = tmp_path / "s"
    folder.mkdir()
    details = {**cline.details(), "messages_path": id_}
    for place in (tmp_path / "outside.json", folder / "other.json"):
        place.write_bytes(cline.dump(details))
    id_ = f"{tmp_path}{id_}" if id_.startswith("/") else id_
    source = folder / "m.messages.json"
    data = cline.dump({**cline.shop(), "sessionId": id_})
    source.write_bytes(data)
    session = read(data).session
    assert session.about.id == id_
    with pytest.raises(CtxtuiError, match="details are missing"):
        copy_session(session, choose_call(session), "cline", source)
