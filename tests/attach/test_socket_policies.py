"""Policies and edits over a WebSocket: each call says what became of them, and taken back the client's own leaves."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ctxtui.core.call import EDITS
from ctxtui.core.session import MAIN
from ctxtui.services.attach.hold_rules import HoldRules
from ctxtui.services.config.settings import Settings
from ctxtui.services.editing.overlay import SessionEdits
from ctxtui.services.recordings.open import load
from tests.attach.holding import HoldingRun, holding
from tests.attach.test_socket_holds import talking

LISTING = "\n".join(f"file {n:04} of a long listing" for n in range(300))
CUT = "file 0150"


def result(number: int, text: str) -> list[dict[str, Any]]:
    return [
        {"type": "function_call", "call_id": f"c{number}", "name": "list", "arguments": "{}"},
        {"type": "function_call_output", "call_id": f"c{number}", "output": text},
    ]


def asked(run: HoldingRun) -> list[dict[str, Any]]:
    """What arrived at the provider, less the warm-up."""
    told = [json.loads(one.body) for one in run.provider.server.seen if one.body]
    return [one for one in told if one.get("generate") is not False]


async def proofs(run: HoldingRun) -> list[Any]:
    await run.written()
    return [call.extra.get(EDITS) for call in load(run.path).session.thread_calls()]


async def test_a_policy_stands_over_a_websocket_until_it_is_taken_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CTXTUI_HOME", str(tmp_path))
    monkeypatch.setenv("CTXTUI_DB", str(tmp_path / "ctxtui.db"))
    given = ("truncate_results",), ("limit=200",)
    async with holding(tmp_path, HoldRules(), None, *given) as run, talking(run) as client:
        client.instructions *= 6
        await client.say("hoi")
        await client.ask(*result(1, LISTING))
        assert CUT not in json.dumps(asked(run)[1]) and "file 0000" in json.dumps(asked(run)[1])
        # The client goes on from the response; what its provider holds is the cut one.
        await client.say("go on")
        assert CUT not in json.dumps(asked(run)[2])
        before, *proven = await proofs(run)
        assert not (before or {}).get("applied")
        assert len(proven) == 2 and all(len(one["applied"]) == 1 and not one["refused"] for one in proven)
        # What the client believes its context to be, against what was sent.
        session = load(run.path).session
        call = session.thread_calls()[-1]
        believes, sent = (
            b"".join(item.block.body for item in session.tree.items(head)) for head in (call.raw_head, call.sent_head)
        )
        assert CUT.encode() in believes and CUT.encode() not in sent and b"go on" in sent
        kept = SessionEdits(load(run.path), Settings(data_dir=str(tmp_path)))
        kept.of_thread(MAIN).revert(proven[0]["applied"])
        kept.save()
        # Its provider holds another conversation than the client's: now it is told the client's own, whole.
        await client.say("and on")
        whole = asked(run)[3]
        assert CUT in json.dumps(whole) and "previous_response_id" not in whole
        # From then on what leaves is what the client says, byte for byte.
        await client.say("more")
        assert run.provider.server.seen[-1].body == client.said[-1].encode()
        last = (await proofs(run))[-1]
        assert not (last or {}).get("applied")
        session = load(run.path).session
        assert [call.raw_head == call.sent_head for call in session.thread_calls()] == [True, False, False, True, True]
