"""The offline provider of a chat: a process of its own, gone when the chat is."""

from __future__ import annotations

import anthropic
import pytest

from ctxtui.core.errors import ProviderError
from ctxtui.providers.endpoint import ANTHROPIC, Endpoint
from ctxtui.services.chat import offline_provider
from ctxtui.services.chat.chat_model import ChatModel

PARTNER = ChatModel(Endpoint("offline", ANTHROPIC, kind="offline"), "offline")


async def test_it_answers_until_it_is_ended(cold_children: None) -> None:
    partner, end = await offline_provider.start_offline(PARTNER)
    client = anthropic.AsyncAnthropic(base_url=partner.endpoint.base_url, api_key="x", max_retries=0)
    asked = client.messages.create
    answer = await asked(model="offline", max_tokens=900, messages=[{"role": "user", "content": "hello"}])
    assert "no model" in answer.content[-1].text  # type: ignore[union-attr]
    await end()
    with pytest.raises(anthropic.APIConnectionError):
        await asked(model="offline", max_tokens=900, messages=[{"role": "user", "content": "hello"}])
    await client.close()


async def test_a_start_that_fails_is_told(monkeypatch: pytest.MonkeyPatch, cold_children: None) -> None:
    monkeypatch.setattr("ctxtui.services.child_process.sys.executable", "/bin/false")
    with pytest.raises(ProviderError, match="could not be started"):
        await offline_provider.start_offline(PARTNER)


async def test_two_chats_have_calls_with_different_ids() -> None:
    """Statistics count calls with the same id once."""
    ids = set()
    for _ in range(2):
        partner, end = await offline_provider.start_offline(PARTNER)
        async with anthropic.AsyncAnthropic(base_url=partner.endpoint.base_url, api_key="x", max_retries=0) as client:
            answer = await client.messages.create(
                model="offline", max_tokens=900, messages=[{"role": "user", "content": "hello"}]
            )
        ids |= {answer.id, answer._request_id}
        await end()
    assert len(ids) == 4
