"""Exports of recorded calls: in their own dialect byte for byte, as a body and as a curl command."""

from __future__ import annotations

from pathlib import Path

import pytest

from ctxtui.analysis.call_choice import ChosenCall, choose_call
from ctxtui.core.call import Call
from ctxtui.core.errors import CtxtuiError, NotFound
from ctxtui.curation.apply.applied import Applied
from ctxtui.curation.context import Context
from ctxtui.curation.legality.request_check import RequestRefused
from ctxtui.services.editing.edited_context import BODIES, FORMS, EditedContext, write_context
from ctxtui.services.editing.exporting import CURL, copy_session, export_session, own_form
from ctxtui.services.editing.named_blocks import find_block
from ctxtui.services.recordings.open_by_name import split_call
from ctxtui.tokens.models import RequestLimits
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


@pytest.mark.parametrize(
    ("provider", "model", "form"),
    [
        ("google", "gemini-2.5-pro", "google"), ("", "gemini-2.5-pro", "google"), ("google", "claude-x", "anthropic"),
        ("ollama", "qwen3", "ollama-chat"), ("", "gpt-5", "openai-chat"),
    ],
)  # fmt: skip
def test_a_call_without_a_recorded_body_has_the_form_of_its_provider(provider: str, model: str, form: str) -> None:
    assert own_form(ChosenCall("main", 1, Call("a", "main", provider=provider, model=model))) == form


@pytest.mark.parametrize("form", FORMS)
def test_edits_that_leave_nothing_are_written_in_no_form(tmp_path: Path, form: str) -> None:
    session, _ = session_in("anthropic")
    chosen = choose_call(session)
    context = Context.of_call(session.tree, chosen.call, chosen.call.sent_head)
    applied = Applied(context, length=len(context), refused="nothing would be left")
    edited = EditedContext(
        session=session, chosen=chosen, context=context, applied=applied, limits=RequestLimits(), after=False
    )
    with pytest.raises(RequestRefused, match="nothing would be left"):
        write_context(edited, form, tmp_path / "session.jsonl")


def test_an_unknown_form_is_answered_with_the_known_ones_alone() -> None:
    session, _ = session_in("anthropic")
    with pytest.raises(NotFound) as caught:
        export_session(session, "codex", choose_call(session))
    assert "codex" not in caught.value.way_out and "anthropic" in caught.value.way_out


def test_a_number_of_thousands_of_digits_names_nothing() -> None:
    session, _ = session_in("anthropic")
    context = Context.of_call(session.tree, choose_call(session).call, choose_call(session).call.sent_head)
    digest = context.items[-1].block.digest
    assert find_block(context, digest) == len(context) - 1
    for number in ("9" * 5000, "x", "1"):
        with pytest.raises(NotFound):
            find_block(context, f"{digest}#{number}")
    assert split_call(f"a@{'9' * 5000}")[1] == split_call(f"a:{'9' * 5000}", ":")[1] == 0 and split_call("a@12") == (
        "a",
        12,
    )
