"""A provider that serves, with a clock that stands still, and the real SDKs pointed at it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import anthropic
import httpx2._transports.default as transports
import openai
import pytest

from ctxtui.offline import Provider, RunningProvider, Server, SetClock, offline

# Each client of an SDK reads all certificates that it would trust, and asks loopback without any.
transports.create_ssl_context = lru_cache(transports.create_ssl_context)  # type: ignore[attr-defined]


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
