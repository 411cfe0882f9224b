"""Results that were on their way when ctxtui ended are played again with their images, also as older versions wrote
them."""

from __future__ import annotations

import json
from dataclasses import dataclass

from ctxtui.agent.events import ToolResult
from ctxtui.agent.replay import Replay
from ctxtui.services.chat.recorder import results_json
from ctxtui.wire.speech import ResultImage
from tests.agent.test_conversation import STREAMS, begun, heard
from tests.cases.sessions import PNG


@dataclass(frozen=True)
class Event:
    kind: str
    data: bytes | str
    at: float = 0.0


def played(told: str) -> str:
    """The body after an answer that calls two tools, and these results."""
    talk = begun("anthropic")
    talk.add_user_message("look")
    talk.add_answer(heard("anthropic", STREAMS["anthropic"]))
    Replay(talk, "anthropic", frozenset(), "own").replay(Event("results", told))
    return talk.draft().body.decode()


def test_an_image_is_played_again() -> None:
    ids = [call.id for call in _asked()]
    image = ResultImage("image/png", PNG)
    results = (ToolResult(ids[0], "a picture", images=(image,)), *(ToolResult(one, "no") for one in ids[1:]))
    assert PNG in played(results_json(results))
    older = json.dumps([[one, "said", False] for one in ids])
    assert older.count("said") == played(older).count("said")


def _asked() -> tuple[ToolResult, ...]:
    talk = begun("anthropic")
    talk.add_user_message("look")
    return tuple(ToolResult(call.id, "") for call in talk.add_answer(heard("anthropic", STREAMS["anthropic"])).calls)
