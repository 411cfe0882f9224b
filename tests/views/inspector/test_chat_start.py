"""What a chat says before the first word."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from ctxtui.views.inspector.chat_start import ChatStart, lines
from ctxtui.views.text.span import width

HOSTED = ChatStart(
    "claude-sonnet-5-5", "anthropic", why="key of anthropic", window=1_000_000, usd=(3.0, 15.0), priced=True, folder="~"
)


def told(what: ChatStart, room: int = 200) -> str:
    return "\n".join("".join(span.text for span in line) for line in lines(what, room))


def test_a_provider_gets_what_is_said_and_has_its_price() -> None:
    there = told(HOSTED)
    assert "claude-sonnet-5-5 of anthropic answers" in there and "1,000,000 tokens" in there
    assert "costs $3.00 per million input tokens, $15.00 output (list price)" in there
    assert "sent to anthropic" in there and "nothing leaves" not in there
    assert "no list price is known" in told(replace(HOSTED, usd=None))


def test_what_stays_on_the_machine_is_said_to_stay_and_to_cost_nothing() -> None:
    own = ChatStart("qwen3", "ollama", local=True, keeps=True, folder="~/app")
    assert "nothing leaves this machine" in told(own) and "free: it runs" in told(own)
    gateway = replace(own, keeps=False, address="http://127.0.0.1:4000")
    assert "whether it forwards data is not known" in told(gateway) and "nothing leaves" not in told(gateway)


def test_the_reason_names_a_variable_as_it_is_written() -> None:
    why = "key of anthropic; ANTHROPIC_BASE_URL names the address"
    assert "Key of anthropic; ANTHROPIC_BASE_URL names the address." in told(replace(HOSTED, why=why))


def test_the_offline_provider_is_no_model() -> None:
    assert "no model is running" in told(ChatStart("offline", "offline", local=True, keeps=True, offline=True))


@pytest.mark.parametrize("room", [28, 58, 80, 200])
@pytest.mark.parametrize("what", [ChatStart(), HOSTED, replace(HOSTED, address="https://" + "x" * 99, waiting=2)])
def test_no_line_is_longer_than_the_pane(what: ChatStart, room: int) -> None:
    assert max(width(line) for line in lines(what, room)) <= room
