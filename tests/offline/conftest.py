"""A provider that serves, with a clock that stands still, and the real SDKs pointed at it."""

from __future__ import annotations

from collections.abc import Iterator

import anthropic
import openai
import pytest

from ctxtui.offline import Provider, RunningProvider, Server, SetClock, offline


@pytest.fixture(scope="module")
def served() -> Iterator[RunningProvider]:
    """One server for the tests of a module."""
    with offline(Server(Provider(clock=SetClock()))) as running:
        yield running


@pytest.fixture
def running(served: RunningProvider) -> RunningProvider:
    """The module's server, as new."""
    served.server.provider.__init__(clock=SetClock())  # type: ignore[misc]
    served.server.faults.arm([], 0)
    served.server.seen.clear()
    served.server.pace = 0.0
    return served


@pytest.fixture
def claude(running: RunningProvider) -> Iterator[anthropic.Anthropic]:
    """The Anthropic SDK."""
    with anthropic.Anthropic(api_key="any", base_url=running.url, max_retries=0) as client:
        yield client


@pytest.fixture
def gpt(running: RunningProvider) -> Iterator[openai.OpenAI]:
    """The OpenAI SDK."""
    with openai.OpenAI(api_key="any", base_url=running.openai_url, max_retries=0) as client:
        yield client
