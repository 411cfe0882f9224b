"""Any recorded session can be gone on from, with any provider: what is sent is legal, for strict validators too."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from ctxtui.agent.conversation import ConversationStart, begin
from ctxtui.agent.tools.registry import TOOLS
from ctxtui.core.errors import CtxtuiError, NotFound
from ctxtui.core.session import MAIN, CallSeen, ThreadSeen
from ctxtui.core.tree import Tree
from ctxtui.curation.legality.legality import check
from ctxtui.offline.anthropic import validate
from ctxtui.offline.openai import validate_chat, validate_responses
from ctxtui.providers.endpoint import Endpoint
from ctxtui.services.chat.chat_model import ChatModel
from ctxtui.services.chat.continue_from import CHAT, find_continuation
from ctxtui.services.chat.model_choice import params_for
from ctxtui.services.config.package_data import sample_paths
from ctxtui.services.config.paths import database
from ctxtui.services.config.settings import Settings
from ctxtui.store.store import Store
from tests.store.builders import FILE, talk

MODELS = {"anthropic": "claude-opus-4-8", "openai_chat": "gpt-5.4", "openai_responses": "gpt-5.4"}
STRICT = {"anthropic": validate, "openai_chat": validate_chat, "openai_responses": validate_responses}


def refused(path: Path, dialect: str, number: int = 0) -> list[str]:
    """What the provider would say to a chat that goes on from a recording."""
    past = find_continuation(str(path), "", number, Settings(), path.parent)
    params = params_for(ChatModel(Endpoint("openai", dialect), MODELS[dialect]), Settings(answer_tokens=1000))
    tools = [tool.definition() for tool in TOOLS]
    talk = begin(Tree(), ConversationStart(dialect, params, tools, past.system or "You help.", past.before))
    talk.add_user_message("go on")
    body = json.loads(talk.draft().body)
    return [str(one) for one in check(dialect, body)] + [one.message for one in STRICT[dialect].refusals(body)]


@pytest.mark.parametrize("dialect", list(MODELS))
@pytest.mark.parametrize("sample", sample_paths(), ids=lambda path: path.stem)
def test_samples(sample: Path, dialect: str) -> None:
    for number in (1, 0):
        assert refused(sample, dialect, number) == []


def test_a_system_message_is_the_system_prompt_and_is_not_sent_twice(tmp_path: Path) -> None:
    messages = [{"role": "system", "content": "You are S."}, {"role": "user", "content": "hi"}]
    (tmp_path / "chat.json").write_text(json.dumps({"model": "gpt-5", "messages": messages}))
    past = find_continuation(str(tmp_path / "chat.json"), "", 0, Settings(data_dir=str(tmp_path)), tmp_path)
    assert past.system == "You are S." and {item.place.role for item in past.before} == {"user"}


@pytest.mark.parametrize("dialect", list(MODELS))
@pytest.mark.parametrize("folder", ["claude_code", "codex", "gemini_cli", "vcr"])
def test_recordings_of_every_kind(corpus: Path, folder: str, dialect: str) -> None:
    files = sorted(p for p in (corpus / folder).rglob("*") if p.suffix in (".jsonl", ".json", ".yaml"))
    tried = 0
    for path in [p for p in files if p.stat().st_size < 400_000][::7][:6]:
        try:
            said = refused(path, dialect)
        except CtxtuiError:
            continue
        assert said == [], path.name
        tried += 1
    assert tried


def test_a_call_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        find_continuation(str(sample_paths()[0]), "", 10_000, Settings(), tmp_path)


def test_a_chat_continues_itself_in_its_main_thread_only(tmp_path: Path) -> None:
    session = talk(2, id_="a-chat")
    session.about = replace(session.about, client=CHAT)
    (call, *_) = session.calls.values()
    session.fold([ThreadSeen("agent-1", parent=MAIN), CallSeen(replace(call, id="of-agent", thread="agent-1"))])
    settings = Settings(data_dir=str(tmp_path))
    with Store.open(database(settings.data_dir)) as store:
        stored = store.import_session(session, FILE)
    for thread in ("", MAIN):
        assert find_continuation(stored, thread, 0, settings, tmp_path).stored == stored
    held: list[str] = []
    past = find_continuation(stored, "agent-1", 0, settings, tmp_path, held.append)
    assert past.stored == "" and not held and past.origin is not None and past.origin.thread == "agent-1"
