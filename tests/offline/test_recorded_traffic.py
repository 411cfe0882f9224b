"""Requests that the real providers answered are taken, and what they refused is refused in their words."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from ctxtui.offline.anthropic import validate
from ctxtui.offline.exchange import Refusal
from ctxtui.offline.openai import chat_api, validate_chat, validate_responses
from tests.corpus import corpus_params

GONE = ("claude-3", "muse-", "gpt-4-vision")
"""Models that the cassettes know and the providers no more."""
ELSEWHERE = ("Error while downloading", "Incorrect API key")
"""Refusals for reasons outside the body."""


class _Loader(yaml.CSafeLoader):
    """Reads cassettes of Ruby too: their tags say nothing here."""


def _plain(loader: Any, _: str, node: Any) -> Any:
    if isinstance(node, yaml.ScalarNode):
        return loader.construct_scalar(node)
    if isinstance(node, yaml.SequenceNode):
        return loader.construct_sequence(node)
    return loader.construct_mapping(node, deep=True)


_Loader.add_multi_constructor("!", _plain)
_Loader.add_multi_constructor("tag:yaml.org,2002:python", lambda loader, suffix, node: None)


def body_of(message: dict[str, Any]) -> Any:
    body = message.get("parsed_body") or message.get("body")
    if isinstance(body, dict) and "string" in body:
        body = body["string"]
    try:
        return json.loads(body) if isinstance(body, (str, bytes)) else body
    except ValueError:
        return None


def refusals_of(asked: dict[str, Any], body: Any) -> list[Refusal] | None:
    """What the validator of the request's address says; None for an address that is not served."""
    uri = asked.get("uri", "")
    headers = {name.lower(): v[0] if isinstance(v, list) else v for name, v in (asked.get("headers") or {}).items()}
    if "api.anthropic.com/v1/messages" in uri:
        # Cassettes leave the beta header out.
        betas = ["context-management-2025-06-27", "compact-2026-01-12"] if "beta=true" in uri else []
        version = headers.get("anthropic-version", validate.OLD_VERSION)
        return validate.refusals(body, version=version, betas=betas, counting="count_tokens" in uri)
    if "api.openai.com/v1/chat/completions" in uri:
        return validate_chat.refusals(body)
    return validate_responses.refusals(body) if "api.openai.com/v1/responses" in uri else None


@pytest.mark.parametrize("path", corpus_params("vcr"))
def test_cassette(path: Path) -> None:
    cassette = yaml.load(path.read_bytes(), _Loader)
    for one in cassette.get("interactions") or cassette.get("http_interactions") or []:
        body = body_of(one["request"])
        found = refusals_of(one["request"], body) if isinstance(body, dict) else None
        if found is None or str(body.get("model")).startswith(GONE):
            continue
        status = one["response"]["status"]
        code = int(status["code"] if isinstance(status, dict) else status or 200)
        if code < 400:
            assert found == []
            continue
        told = body_of(one["response"])["error"]
        if not told["message"].startswith(ELSEWHERE):
            assert (found[0].status, found[0].message) == (code, told["message"])
            if "code" in told:
                assert chat_api.format_error(found[0], "")["error"] == told
