"""Scripts in frameworks and SDKs under `exec`, with keys and no address: every request is recorded exactly, with the
figures that the provider reported.
"""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from ctxtui.core.call import Call, Fidelity
from ctxtui.services.recordings.open import load
from tests.clients.client import ROOT, Client
from tests.clients.frameworks import SCRIPTS
from tests.clients.lab import KEPT, SECONDS, lab
from tests.clients.namespace import ended, tail
from tests.clients.registry import ASKED, left_out
from tests.clients.test_attached import bodies_at_the_provider, bodies_on_record, lines_of, recordings_of
from tests.clients.wire import Exchange, Tokens


class Figures(NamedTuple):
    """What one call is: the provider's id of its answer, its model, and tokens as reported (None: not)."""

    id: str
    model: str
    tokens: Tokens | None


def _recorded(call: Call) -> Figures:
    usage = call.usage
    tokens = usage and Tokens(usage.fresh, usage.cache_read, usage.cache_write, usage.output)
    return Figures(call.id, call.model, tokens)


def _reported(one: Exchange) -> Figures:
    id_ = str(one.answer.get("id") or one.answer.get("responseId"))
    is_reported = bool(one.answer.get("usage") or one.answer.get("usageMetadata"))
    return Figures(id_, one.model, one.tokens if is_reported else None)


@pytest.mark.parametrize("client", SCRIPTS, ids=lambda one: one.name)
def test_a_script_is_led_and_recorded_exactly(client: Client, tmp_path: Path) -> None:
    if not ASKED:
        pytest.skip("real clients run in make test-clients only")
    if left_out(client.name):
        pytest.skip(f"left out by CLIENTS: {client.name}")
    assert client.installed, (
        f'{client.package} is not installed: make clients, or leave it out with CLIENTS="{client.name}"'
    )
    with lab(client, tmp_path / "lab") as place:
        env = place.env | {"PYTHONPATH": str(ROOT), "CTXTUI_HOME": str(place.home / "ctxtui")}
        # The providers are elsewhere here, which the script is not told.
        urls = (f"anthropic={place.url}", f"openai={place.url}/v1", f"google={place.url}")
        command = [sys.executable, "-m", "ctxtui", "exec", *(word for url in urls for word in ("--upstream", url))]
        running = place.space.start(
            [*command, "--", *client.ask(place, client.first)], cwd=place.work, env=env, log=place.printed
        )
        assert ended(running, place.printed, 3 * SECONDS) == 0, tail(place.printed)
        assert [(one.path, one.answer) for one in place.seen() if one.method == "POST" and not one.accepted] == []
        arrived, asked = bodies_at_the_provider(place), [one for one in place.seen() if one.asks]
        assert any(KEPT in json.dumps(one.messages) for one in asked), "no request has what the tool read"
        assert sorted(bodies_on_record(lines_of(place))) == sorted(hashlib.sha256(one).hexdigest() for one in arrived)
        calls = [call for path in recordings_of(place) for call in load(path).session.calls.values()]
        assert {call.fidelity for call in calls} == {Fidelity.WIRE}
        recorded = sorted(_recorded(call) for call in calls if call.stop_reason != "count_tokens")
        assert recorded == sorted(map(_reported, asked))
