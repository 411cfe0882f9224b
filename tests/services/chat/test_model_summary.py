"""A model writes a summary: the requests are legal, the answer comes over the real SDKs from the offline provider."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest

from ctxtui.analysis.call_choice import choose_call
from ctxtui.core.edit import make
from ctxtui.core.edit_kinds import DROP
from ctxtui.core.errors import CtxtuiError, ProviderError
from ctxtui.core.session import MAIN, CallSeen, Session, TipMoved
from ctxtui.curation.apply.applied import Applied
from ctxtui.curation.apply.apply import apply
from ctxtui.curation.context import Context
from ctxtui.curation.provider_rules import rules_for
from ctxtui.offline import offline
from ctxtui.offline.anthropic import validate
from ctxtui.providers.endpoint import ANTHROPIC, CHAT, GOOGLE, OLLAMA, RESPONSES, Endpoint
from ctxtui.services.chat.chat_model import ChatModel, ModelChoice
from ctxtui.services.chat.model_summary import (
    SummaryPart,
    build_request,
    choose_named_model,
    parse_choice,
    write_summary,
)
from ctxtui.services.editing.edited_context import EditedContext
from ctxtui.tokens.models import RequestLimits
from tests.analysis.cache.test_audit import Talk
from tests.curation.price.test_price_tag import long_talk, result
from tests.services.chatting import config


def part(context: Context) -> SummaryPart:
    scene = long_talk()
    return SummaryPart(
        context, range(result(scene, 2) - 2, result(scene, 4) + 1), ("Facts", "Open"), ("token_3_secret",)
    )


def ready(context: Context) -> EditedContext:
    session = Session(context.tree)
    made = Talk().call()
    session.fold([CallSeen(made), TipMoved(MAIN, context.head)])
    return EditedContext(
        session=session,
        chosen=choose_call(session),
        context=context,
        applied=Applied(context),
        limits=RequestLimits(prefill=False),
        after=True,
    )


def partner(dialect: str, url: str = "") -> ChatModel:
    return ChatModel(
        Endpoint("openai" if dialect in (CHAT, RESPONSES) else "test", dialect, url, key="k"),
        {ANTHROPIC: "claude-opus-4-5", GOOGLE: "gemini-3.1-pro-preview"}.get(dialect, "gpt-5"),
    )


def test_a_model_is_named_with_or_without_its_provider() -> None:
    assert parse_choice("claude-haiku-4-5") == ModelChoice("anthropic", "claude-haiku-4-5")
    assert parse_choice("ollama:qwen3:8b") == ModelChoice("ollama", "qwen3:8b")
    assert parse_choice("qwen3:8b") == ModelChoice("", "qwen3:8b")
    assert parse_choice("gpt-oss:20b") == ModelChoice("", "gpt-oss:20b"), "a local model by an OpenAI name"


@pytest.mark.parametrize("dialect", [ANTHROPIC, CHAT, RESPONSES, OLLAMA, GOOGLE])
def test_the_part_alone_is_sent_in_every_dialect(dialect: str, tmp_path: Path) -> None:
    body = build_request(partner(dialect), config(tmp_path), part(long_talk().context))
    told = body.decode()
    assert "token_3_secret" in told and "- Open" in told and "token_1_secret" not in told
    assert "cache_control" not in told
    if dialect == ANTHROPIC:
        assert validate.refusals(json.loads(body)) == []


def test_the_agent_is_asked_behind_its_whole_context(tmp_path: Path) -> None:
    context = long_talk().context
    body = json.loads(build_request(partner(ANTHROPIC), config(tmp_path), part(context), ready(context)))
    assert validate.refusals(body) == []
    assert body["tools"] and "token_1_secret" in str(body["messages"]) and "token_3_secret" in str(body["messages"][-1])
    with pytest.raises(CtxtuiError, match="another dialect"):
        build_request(partner(CHAT), config(tmp_path), part(context), ready(context))


def test_an_agent_whose_context_would_be_refused_is_not_asked(tmp_path: Path) -> None:
    context = long_talk().context
    held = dataclasses.replace(ready(context), applied=Applied(context, refused="no message would be left"))
    with pytest.raises(CtxtuiError, match="no message"):
        build_request(partner(ANTHROPIC), config(tmp_path), part(context), held)
    parted = apply(context, [make(DROP, [context.target(result(long_talk(), 2))])], rules_for(ANTHROPIC))
    broken = dataclasses.replace(
        parted, changes={p: c for p, c in parted.changes.items() if c.before.kind == "tool_use"}
    )
    with pytest.raises(CtxtuiError, match="would refuse"):
        build_request(
            partner(ANTHROPIC), config(tmp_path), part(context), dataclasses.replace(ready(context), applied=broken)
        )


@pytest.mark.parametrize("dialect", [ANTHROPIC, CHAT, RESPONSES, GOOGLE])
async def test_the_answer_comes_through_the_sdk(dialect: str, tmp_path: Path) -> None:
    with offline() as running:
        url = running.url if dialect in (ANTHROPIC, GOOGLE) else running.openai_url
        whom = partner(dialect, url)
        roomy = config(tmp_path, answer_tokens=60_000)
        made = await write_summary(whom, build_request(whom, roomy, part(long_talk().context)))
        assert "no model" in made.text and made.usage is not None and made.usage.input > 100


async def test_an_answer_that_was_cut_is_no_summary(tmp_path: Path) -> None:
    with offline() as running:
        whom = partner(CHAT, running.openai_url)
        body = build_request(whom, config(tmp_path, answer_tokens=20), part(long_talk().context))
        with pytest.raises(ProviderError, match="reached its answer limit"):
            await write_summary(whom, body)


async def test_a_tool_call_is_no_summary(tmp_path: Path) -> None:
    with offline() as running:
        whom = partner(ANTHROPIC, running.url)
        tool = {"name": "read_file", "description": "reads", "input_schema": {"type": "object"}}
        body = {
            "model": whom.model, "max_tokens": 900, "stream": True, "tools": [tool],
            "messages": [{"role": "user", "content": "call read_file"}],
        }  # fmt: skip
        with pytest.raises(ProviderError, match="called a tool"):
            await write_summary(whom, json.dumps(body).encode())


async def test_a_refusal_is_said(tmp_path: Path) -> None:
    with offline() as running:
        whom = partner(ANTHROPIC, running.url)
        with pytest.raises(ProviderError):
            await write_summary(whom, b'{"model":"claude-opus-4-5","messages":[],"stream":true}')


async def test_without_a_key_it_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.null.Keyring")
    with pytest.raises(CtxtuiError, match="no key"):
        await choose_named_model(parse_choice("claude-opus-4-5"), config(tmp_path))
