"""Policies in a chat: they propose, act once armed, and leave what the user took back."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from ctxtui.core.edit import make
from ctxtui.core.edit_kinds import DROP
from ctxtui.core.errors import NotFound
from ctxtui.curation.policies.profile import parse_profile
from ctxtui.curation.policies.registry import POLICIES
from ctxtui.services.chat.chat_model import ModelChoice
from ctxtui.services.chat.host import Host
from ctxtui.services.chat.request_edits import RequestEditor, run_policies
from ctxtui.services.config.config import load
from ctxtui.services.config.package_data import model_table
from ctxtui.services.config.policy_registry import load_profile
from ctxtui.services.editing.overlay import ThreadEdits
from tests.curation.conversations import context_of
from tests.curation.shaped import SHAPES
from tests.services.chatting import MODEL, answer, hosted, provider, text

TEXT = '[[policy]]\nuse = "truncate_results"\nlimit = 50\n'


def test_a_profile_proposes_until_it_is_armed(tmp_path: Path) -> None:
    context, _ = context_of(SHAPES["openai_chat"](Random(1)), "openai_chat")
    card = model_table().card("gpt-5.4")
    overlay = ThreadEdits()
    own = overlay.stage_all([make(DROP, [context.target(len(context) - 1)])])[0]
    run_policies(parse_profile(TEXT, POLICIES), context, overlay, card, 0.75)
    proposed = [edit for edit in overlay.staged if edit.author == "truncate_results"]
    assert proposed and overlay.applied == ()
    run_policies(parse_profile(TEXT, POLICIES), context, overlay, card, 0.75)
    assert [edit for edit in overlay.staged if edit.author == "truncate_results"] == proposed
    overlay.revert(edit.id for edit in proposed)
    run_policies(parse_profile("armed = true\n" + TEXT, POLICIES), context, overlay, card, 0.75)
    assert overlay.applied == () and overlay.staged == (own,)
    fresh = ThreadEdits()
    mine = fresh.stage_all([make(DROP, [context.target(len(context) - 1)])])[0]
    run_policies(parse_profile("armed = true\n" + TEXT, POLICIES), context, fresh, card, 0.75)
    assert {edit.author for edit in fresh.applied} == {"truncate_results"} and fresh.staged == (mine,)


def test_a_profile_is_found_beside_the_chat(tmp_path: Path) -> None:
    (tmp_path / "lean.toml").write_text(TEXT)
    found = load_profile("lean.toml", tmp_path)
    assert found is not None and len(found.steps) == 1
    assert load_profile("", tmp_path) is None
    with pytest.raises(NotFound, match="no such profile"):
        load_profile("gone.toml", tmp_path)


async def test_a_profile_that_a_folder_brings_never_acts_by_itself(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    (work / "lean.toml").write_text("armed = true\n" + TEXT)
    for brought, armed in (("lean.toml", False), (f"{work / 'lean.toml'}", True)):
        own = [] if not armed else [f"profile={brought}"]
        (work / "ctxtui.toml").write_text("" if armed else f'profile = "{brought}"\n')
        settings = load([f"data_dir={tmp_path / 'home'}", *own], cwd=work, env={})
        async with provider([answer("m1", text("ok"))]) as server:
            wish = ModelChoice(provider="anthropic", base_url=server.root, model=MODEL)
            async with hosted(Host(wish, settings, work)) as made:
                assert made.host.runner is not None
                editor = made.host.runner.conversation.editor
                assert (
                    isinstance(editor, RequestEditor) and editor.profile is not None and editor.profile.armed is armed
                )
