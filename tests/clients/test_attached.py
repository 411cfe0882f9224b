"""Real clients with ctxtui between them and the provider: every byte of a request is theirs, every call is on record
once."""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import json
import os
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ctxtui.core.call import Fidelity
from ctxtui.services.recordings.open import load
from tests.clients.aider import AIDER
from tests.clients.claude_code import CLAUDE_CODE
from tests.clients.client import RECORDED, ROOT, Client
from tests.clients.cline import CLINE
from tests.clients.codex import CODEX, OWN_PROVIDER
from tests.clients.continue_cli import CONTINUE_CLI
from tests.clients.copilot_cli import COPILOT_CLI
from tests.clients.frameworks import VERCEL_GOOGLE
from tests.clients.gemini_cli import GEMINI_CLI
from tests.clients.goose import GOOSE
from tests.clients.inspect_ai import INSPECT_AI
from tests.clients.kimi_code import KIMI_CODE
from tests.clients.lab import PORT, SECONDS, Lab, lab, soon
from tests.clients.llm import LLM
from tests.clients.mini_swe_agent import MINI_SWE_AGENT
from tests.clients.namespace import ended, tail
from tests.clients.opencode import OPENCODE
from tests.clients.pi import PI
from tests.clients.pydantic_ai import PYDANTIC_AI
from tests.clients.qwen_code import QWEN_CODE
from tests.clients.registry import ASKED, CLIENTS, left_out

_LLM_MODELS = """\
- model_id: gpt-5.6
  model_name: gpt-5.6
  supports_tools: true
"""
_SDK = """\
import sys
import anthropic
import openai

model = "claude-sonnet-4-5"
messages = [{"role": "user", "content": sys.argv[1]}]
print(anthropic.Anthropic().messages.create(model=model, max_tokens=500, messages=messages).content)
with anthropic.Anthropic().messages.stream(model=model, max_tokens=500, messages=messages) as stream:
    print(stream.get_final_text())
print(openai.OpenAI().responses.create(model="gpt-5.6", input=sys.argv[1]).output_text)
print(openai.OpenAI().chat.completions.create(model="gpt-5.6", messages=messages).choices[0].message.content)
sys.exit(3)
"""
SDK_SCRIPT = Client(
    name="sdk-script",
    env={"ANTHROPIC_API_KEY": "any", "ANTHROPIC_BASE_URL": "{url}", "OPENAI_API_KEY": "any"}
    | {"OPENAI_BASE_URL": "{url}/v1"},
    files={"work/agent.py": _SDK},
    ask=lambda lab, prompt: [sys.executable, "agent.py", prompt],
    again=None,
    recordings="no/file",
)
"""A program with both SDKs, which ends with 3."""

ATTACHED = (
    CLAUDE_CODE,
    CODEX,
    # By HTTP: a provider of the user's own is asked so.
    dataclasses.replace(CODEX, env={**CODEX.env, "CODEX_BY": "http"}, files={"home/.codex/config.toml": OWN_PROVIDER}),
    OPENCODE,
    PI,
    GEMINI_CLI,
    COPILOT_CLI,
    QWEN_CODE,
    KIMI_CODE,
    GOOSE,
    CONTINUE_CLI,
    CLINE,
    # Its own file of models may not name an address, which counts more than the variable.
    dataclasses.replace(
        LLM,
        env={**LLM.env, "OPENAI_BASE_URL": "{url}/v1"},
        files={**LLM.files, "home/.config/io.datasette.llm/extra-openai-models.yaml": _LLM_MODELS},
    ),
    AIDER,
    MINI_SWE_AGENT,
    INSPECT_AI,
    PYDANTIC_AI,
    SDK_SCRIPT,
)
_CODES = {SDK_SCRIPT.name: 3}
_NAME_SESSIONS = (CLAUDE_CODE.name, CODEX.name, OPENCODE.name, KIMI_CODE.name)
"""Those whose headers or bodies say which session a request is of."""


def _title(one: Client) -> str:
    return f"{one.name}-{one.env['CODEX_BY']}" if "CODEX_BY" in one.env else one.name


@pytest.fixture(scope="module", params=ATTACHED, ids=_title)
def attached(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """A lab in which the client has worked twice through `ctxtui exec`, each time in a session of its own."""
    client: Client = request.param
    if not ASKED:
        pytest.skip("real clients run in make test-clients only")
    if left_out(client.name):
        pytest.skip(f"left out by CLIENTS: {client.name}")
    with lab(client, tmp_path_factory.mktemp(_title(client)) / "lab") as place:
        place.open_gates()
        env = place.env | {"PYTHONPATH": str(ROOT), "CTXTUI_HOME": str(place.home / "ctxtui")}
        for prompt in (client.first, client.last):
            command = [sys.executable, "-m", "ctxtui", "exec", "--", *client.ask(place, prompt)]
            running = place.space.start(command, cwd=place.work, env=env, log=place.printed)
            code = ended(running, place.printed, 3 * SECONDS)
            assert code == _CODES.get(client.name, 0), tail(place.printed)
        yield place


@pytest.fixture
def noted(request: pytest.FixtureRequest, record_property: Callable[[str, object], None]) -> None:
    """The cell of the table that the tests of a client in its usual form are about."""
    client = request.node.callspec.params["attached"]
    if client in CLIENTS or client.name == LLM.name:
        record_property("cell", f"{client.name} {RECORDED}")


def bodies_at_the_provider(place: Lab) -> list[bytes]:
    """What arrived there, request by request, messages over a WebSocket among them."""
    found: list[bytes] = []
    for path in sorted(place.wire.glob("*.har")):
        for entry in json.loads(path.read_text())["log"]["entries"]:
            asked = entry["request"].get("postData", {})
            text = asked.get("text", "")
            found.append(base64.b64decode(text) if asked.get("encoding") == "base64" else text.encode())
            found += [one["data"].encode() for one in entry.get("_webSocketMessages", []) if one["type"] == "send"]
    return [one for one in found if one]


def bodies_on_record(lines: list[dict[str, Any]]) -> list[str]:
    """Digests of what left, as recorded."""
    found = [line["asked"]["body"]["sha256"] for line in lines if "asked" in line and line["asked"]["body"]["size"]]
    return found + [hashlib.sha256(line["frame"].encode()).hexdigest() for line in lines if line.get("by") == "client"]


def recordings_of(place: Lab) -> list[Path]:
    """What ctxtui recorded."""
    return sorted((place.home / "ctxtui" / "attached").glob("*.jsonl"))


def lines_of(place: Lab) -> list[dict[str, Any]]:
    """Every line of it."""
    return [json.loads(line) for path in recordings_of(place) for line in path.read_text().splitlines()]


@pytest.mark.usefixtures("noted")
def test_no_byte_is_changed_on_the_way(attached: Lab) -> None:
    arrived = bodies_at_the_provider(attached)
    assert len(arrived) >= 2
    assert sorted(bodies_on_record(lines_of(attached))) == sorted(hashlib.sha256(one).hexdigest() for one in arrived)
    keys = [
        text
        for line in lines_of(attached)
        for name, text in line.get("asked", {}).get("headers", [])
        if name.lower() in ("authorization", "x-api-key", "x-goog-api-key")
    ]
    assert set(keys) == {"<masked>"}


@pytest.mark.usefixtures("noted")
def test_every_call_is_on_record_once(attached: Lab) -> None:
    asked = [one for one in attached.seen() if one.asks]
    assert len(asked) >= 2
    calls = [call for path in recordings_of(attached) for call in load(path).session.calls.values()]
    assert sorted(call.id for call in calls if call.stop_reason != "count_tokens") == sorted(
        str(one.answer.get("id") or one.answer.get("responseId")) for one in asked
    )
    assert {call.fidelity for call in calls} == {Fidelity.WIRE}


@pytest.mark.usefixtures("noted")
def test_sessions_are_told_apart(attached: Lab) -> None:
    """Two sessions of the client are two here, called as the client calls them where its headers do."""
    found = recordings_of(attached)
    assert len(found) == 2
    assert {len(load(path).session.calls) > 0 for path in found} == {True}
    if attached.client.name in (CLAUDE_CODE.name, CODEX.name):
        own = attached.recorded()
        assert all(any(path.stem.endswith(one.stem) for path in own) for one in found)
    assert all(one.stem.startswith("run-") != (attached.client.name in _NAME_SESSIONS) for one in found)


def test_what_the_client_itself_recorded_counts_once_with_ours(attached: Lab) -> None:
    if attached.client.name not in (CLAUDE_CODE.name, CODEX.name, KIMI_CODE.name):
        pytest.skip("its own record names no answers")
    asked = [one for one in attached.seen() if one.asks]
    assert attached.ctxtui("cost", "--all", "--json")["calls"] == len(asked)
    # One session, one row.
    listed = attached.ctxtui("sessions", "--figures", "--json")["sessions"]
    rows = [one for one in listed if one["source"] in ("attached", "claude code", "codex", "kimi code")]
    assert sorted(one["path"] for one in rows) == sorted(map(str, recordings_of(attached)))
    assert sum(one["calls"] for one in rows) == len(asked)


BY_A_FILE = (KIMI_CODE, CONTINUE_CLI)
"""Clients that are led by a copy of their settings file."""


@pytest.mark.parametrize("client", BY_A_FILE, ids=lambda one: one.name)
def test_afterwards_the_client_goes_on_without_ctxtui(client: Client, tmp_path: Path) -> None:
    """Its settings are as they were, and its session is in its own folder: it is continued from there."""
    if not ASKED:
        pytest.skip("real clients run in make test-clients only")
    if left_out(client.name):
        pytest.skip(f"left out by CLIENTS: {client.name}")
    with lab(client, tmp_path / "lab") as place:
        place.open_gates()
        own = {name: (place.folder / name).read_bytes() for name in client.files}
        env = place.env | {"PYTHONPATH": str(ROOT), "CTXTUI_HOME": str(place.home / "ctxtui")}
        command = [sys.executable, "-m", "ctxtui", "exec", "--", *client.ask(place, client.first)]
        running = place.space.start(command, cwd=place.work, env=env, log=place.printed)
        assert ended(running, place.printed, 3 * SECONDS) == 0, tail(place.printed)
        assert {name: (place.folder / name).read_bytes() for name in own} == own
        sessions = place.recorded()
        assert sessions and not any(path.is_symlink() for path in sessions)
        before = len(place.seen())
        assert before and client.again is not None
        place.run(client.again(place, client.last))
        asked = [one for one in place.seen()[before:] if one.asks]
        assert asked and client.first in json.dumps(asked[0].messages), "it has its history"
        recorded = bodies_on_record(lines_of(place))
        assert len(recorded) == before, "the later requests went past ctxtui"
        assert place.recorded() == sessions, "it is the same session"


PROXY = 4011
"""The port of the network's own proxy, through which the providers' hosts are found."""


_URL_LINE = re.compile(r"^ *\"?(?:openai_base_url|base_url|apiBase|baseUrl)\b.*\{url\}.*\n", re.MULTILINE)


def _at_its_provider(one: Client) -> Client:
    """The client as it is without any base URL."""
    env = {
        name: value
        for name, value in one.env.items()
        if not name.endswith(("_BASE_URL", "_API_BASE", "_BASE", "_HOST"))
    }
    files = {name: _URL_LINE.sub("", text) for name, text in one.files.items()}
    return dataclasses.replace(one, env=env, files=files)


OPENCODE_ALONE = dataclasses.replace(
    OPENCODE,
    env={**OPENCODE.env, "ANTHROPIC_API_KEY": "any"},
    files={
        "home/.config/opencode/opencode.json": json.dumps(
            {"share": "disabled", "autoupdate": False, "model": "anthropic/claude-sonnet-4-5"}
        )
    },
)
FORWARDED = (
    CLAUDE_CODE,
    CODEX,
    OPENCODE_ALONE,
    dataclasses.replace(
        LLM, files={**LLM.files, "home/.config/io.datasette.llm/extra-openai-models.yaml": _LLM_MODELS}
    ),
    AIDER,
    MINI_SWE_AGENT,
    SDK_SCRIPT,
    GEMINI_CLI,
    KIMI_CODE,
    GOOSE,
    CONTINUE_CLI,
    CLINE,
    VERCEL_GOOGLE,
)


@pytest.mark.parametrize("client", FORWARDED, ids=lambda one: one.name)
def test_a_client_without_a_base_url_goes_through_a_proxy_of_this_run(client: Client, tmp_path: Path) -> None:
    if not ASKED:
        pytest.skip("real clients run in make test-clients only")
    if left_out(client.name):
        pytest.skip(f"left out by CLIENTS: {client.name}")
    with lab(_at_its_provider(client), tmp_path / "lab") as place:
        place.open_gates()
        certificate, hosts = place.folder / "network.pem", place.folder / "hosts.txt"
        front = [sys.executable, "-m", "tests.clients.tls_front", str(PROXY), str(certificate), str(PORT)]
        place.space.start(front, cwd=ROOT, env=os.environ | {"PYTHONPATH": str(ROOT)}, log=hosts)
        assert soon(certificate.exists, 30), tail(hosts)
        # The network's own proxy and certificates are the machine's here, as in a company.
        env = place.env | {
            "PYTHONPATH": str(ROOT),
            "CTXTUI_HOME": str(place.home / "ctxtui"),
            "HTTPS_PROXY": f"http://127.0.0.1:{PROXY}",
            "SSL_CERT_FILE": str(certificate),
        }
        command = [sys.executable, "-m", "ctxtui", "exec", "--forward", "--", *client.ask(place, client.first)]
        code = ended(place.space.start(command, cwd=place.work, env=env, log=place.printed), place.printed, 3 * SECONDS)
        assert code == _CODES.get(client.name, 0), tail(place.printed) + tail(hosts)
        asked = [one for one in place.seen() if one.asks]
        assert asked, tail(place.printed) + tail(hosts)
        recorded = bodies_on_record(lines_of(place))
        assert recorded
        assert set(recorded) <= {hashlib.sha256(one).hexdigest() for one in bodies_at_the_provider(place)}
        # As its provider's own client it may be refused and ask again, which is recorded as well.
        calls = [call for path in recordings_of(place) for call in load(path).session.calls.values() if not call.error]
        assert sorted(call.id for call in calls if call.stop_reason != "count_tokens") == sorted(
            str(one.answer.get("id") or one.answer.get("responseId")) for one in asked
        )
