"""Faults on demand, as the real SDKs meet them."""

from __future__ import annotations

import json
import time
from collections import Counter
from typing import Any
from urllib import request

import anthropic
import openai
import pytest

from ctxtui.core.errors import BadConfig
from ctxtui.offline import RunningProvider, SetClock
from ctxtui.offline.faults import Fault, Faults, parse
from ctxtui.offline.provider import RateLimits

HELLO: Any = [{"role": "user", "content": "hello"}]
ASKED: Any = {"model": "offline", "max_tokens": 500, "messages": HELLO}


def by(fault: str) -> dict[str, str]:
    return {"x-ctxtui-fault": fault}


@pytest.mark.parametrize(
    ("fault", "error", "kind"),
    [
        ("429;seconds=7", anthropic.RateLimitError, "rate_limit_error"),
        ("500", anthropic.InternalServerError, "api_error"),
        ("529", anthropic.InternalServerError, "overloaded_error"),
    ],
)
def test_refusals_of_anthropic(
    claude: anthropic.Anthropic, fault: str, error: type[anthropic.APIStatusError], kind: str
) -> None:
    with pytest.raises(error) as caught:
        claude.messages.create(**ASKED, extra_headers=by(fault))
    assert caught.value.body["error"]["type"] == kind  # type: ignore[index]
    assert caught.value.response.headers.get("retry-after") == ("7" if fault.startswith("429") else None)


@pytest.mark.parametrize(
    ("fault", "error"),
    [("429", openai.RateLimitError), ("500", openai.InternalServerError), ("529", openai.InternalServerError)],
)
def test_refusals_of_openai(gpt: openai.OpenAI, fault: str, error: type[openai.APIStatusError]) -> None:
    for ask in (
        lambda: gpt.chat.completions.create(model="offline", messages=HELLO, extra_headers=by(fault)),
        lambda: gpt.responses.create(model="offline", input="hello", extra_headers=by(fault)),
    ):
        with pytest.raises(error):
            ask()


@pytest.mark.parametrize("fault", ["stream-error;after=4", "disconnect;after=4", "garbage;after=4"])
def test_streams_that_break(claude: anthropic.Anthropic, gpt: openai.OpenAI, fault: str) -> None:
    came: list[str] = []
    # What a broken stream raises is each SDK's own business: an API error, one of httpx, one of JSON.
    with pytest.raises(Exception) as caught, claude.messages.stream(**ASKED, extra_headers=by(fault)) as stream:
        for event in stream:
            came.append(event.type)
        assert stream.get_final_message().stop_reason
    assert came[0] == "message_start"
    assert "message_stop" not in came
    if fault.startswith("stream-error"):
        assert isinstance(caught.value, anthropic.APIStatusError)
        with pytest.raises(openai.APIError):
            list(gpt.chat.completions.create(model="offline", messages=HELLO, stream=True, extra_headers=by(fault)))
        events = list(gpt.responses.create(model="offline", input="hello", stream=True, extra_headers=by(fault)))
        assert (events[-1].type, len(events)) == ("error", 5)


def test_answers_that_break(claude: anthropic.Anthropic) -> None:
    with pytest.raises(anthropic.APIConnectionError):
        claude.messages.create(**ASKED, extra_headers=by("disconnect"))
    with pytest.raises((json.JSONDecodeError, anthropic.APIResponseValidationError, UnicodeDecodeError)):
        claude.messages.create(**ASKED, extra_headers=by("garbage"))


def test_slow(claude: anthropic.Anthropic) -> None:
    with pytest.raises(anthropic.APITimeoutError):
        claude.with_options(timeout=0.1).messages.create(**ASKED, extra_headers=by("slow;seconds=0.4"))
    start = time.monotonic()
    claude.messages.create(**ASKED, extra_headers=by("slow;seconds=0.2"))
    assert time.monotonic() - start >= 0.2


def test_pace(claude: anthropic.Anthropic, running: RunningProvider) -> None:
    running.server.pace = 500.0
    asked = {**ASKED, "messages": [{"role": "user", "content": "say 100 words"}], "thinking": {"type": "disabled"}}
    start = time.monotonic()
    with claude.messages.stream(**asked) as stream:
        tokens = stream.get_final_message().usage.output_tokens
    late = time.monotonic() - start - tokens / 500
    # A busy machine may be late, and nothing is early.
    assert -0.1 * tokens / 500 <= late <= 20


def test_retries_of_the_sdk_get_through(claude: anthropic.Anthropic, running: RunningProvider) -> None:
    running.server.faults.arm([parse("529;times=1"), parse("429;times=1;seconds=0")])
    claude.with_options(max_retries=2).messages.create(**ASKED)
    assert [(seen.status, seen.fault) for seen in running.server.seen] == [(529, "529"), (429, "429"), (200, "")]


def test_the_control_address(running: RunningProvider) -> None:
    def call(method: str, path: str, body: Any = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        with request.urlopen(request.Request(running.url + path, data, method=method), timeout=5) as answer:
            return json.load(answer)

    told = call("POST", "/_ctxtui/faults", {"faults": ["529;times=2", {"kind": "slow", "seconds": 0.5}], "seed": 3})
    assert [fault["kind"] for fault in told["faults"]] == ["529", "slow"]
    assert call("GET", "/_ctxtui/faults") == told
    assert call("DELETE", "/_ctxtui/faults") == {"faults": []}
    for wrong in ({"faults": ["nothing"]}, {}, [], {"faults": [4]}):
        with pytest.raises(request.HTTPError, match="400"):
            call("POST", "/_ctxtui/faults", wrong)
    before = call("POST", "/_ctxtui/clock", {"advance": 0})["now"]
    assert call("POST", "/_ctxtui/clock", {"advance": 300})["now"] == before + 300


def test_limits_that_are_enforced(claude: anthropic.Anthropic, running: RunningProvider) -> None:
    provider = running.server.provider
    provider.limits = RateLimits(requests=2, enforced=True)
    claude.messages.create(**ASKED)
    claude.messages.create(**ASKED)
    with pytest.raises(anthropic.RateLimitError) as caught:
        claude.messages.create(**ASKED)
    assert caught.value.response.headers["retry-after"] == "60"
    assert isinstance(provider.clock, SetClock)
    provider.clock.advance(61)
    claude.messages.create(**ASKED)


def test_chance_is_seeded() -> None:
    def drawn(seed: int) -> list[str]:
        faults = Faults([Fault("429", share=0.2), Fault("500", share=0.1)], seed)
        return [fault.kind if (fault := faults.take_fault()) else "" for _ in range(1000)]

    assert drawn(1) == drawn(1) != drawn(2)
    counted = Counter(drawn(1))
    assert 150 < counted["429"] < 250
    assert 50 < counted["500"] < 110


@pytest.mark.parametrize(
    "wrong", ["", "418", "429;x=1", "429;times=a", "429;times", 7, {}, {"kind": "429", "seconds": None}]
)
def test_faults_that_are_none(wrong: Any) -> None:
    with pytest.raises(BadConfig):
        parse(wrong)
    assert parse("slow; seconds=2 ;times=3") == Fault("slow", seconds=2.0, times=3)


def test_faults_that_can_no_longer_occur() -> None:
    faults = Faults([Fault("429", times=0)] * 1000 + [Fault("500", times=1)])
    taken = faults.take_fault()
    assert taken is not None and taken.kind == "500"
    assert faults.take_fault() is None and not faults.armed


def test_a_slow_answer_does_not_hide_how_long_the_limit_lasts(
    claude: anthropic.Anthropic, running: RunningProvider
) -> None:
    provider = running.server.provider
    provider.limits = RateLimits(requests=1, enforced=True)
    claude.messages.create(**ASKED)
    with pytest.raises(anthropic.RateLimitError) as caught:
        claude.messages.create(**ASKED, extra_headers=by("slow;seconds=0"))
    assert caught.value.response.headers["retry-after"] == "60"
