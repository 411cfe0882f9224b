"""What happens in the turns of a rollout."""

from __future__ import annotations

from collections.abc import Callable

from tests.cases.codex import Record, Script, count

ODDITIES: dict[str, Callable[[], bytes]] = {}


def odd(make: Callable[[], bytes]) -> Callable[[], bytes]:
    ODDITIES[f"codex_{make.__name__}"] = make
    return make


def begun(script: Script) -> Script:
    """The session, its instructions and the first question."""
    script.meta()
    script.event("task_started", turn_id="t", model_context_window=script.window)
    developer = [{"type": "input_text", "text": "<permissions instructions>\nask first\n</permissions instructions>"}]
    script.item("message", role="developer", content=developer)
    context = [
        {"type": "input_text", "text": "# AGENTS.md instructions for /home/ada/shop\n\nBe brief."},
        {"type": "input_text", "text": "<environment_context>\n  <cwd>/home/ada/shop</cwd>\n</environment_context>"},
    ]
    script.item("message", role="user", content=context)
    script.context()
    script.user("list the files")
    return script


@odd
def a_turn() -> bytes:
    """Two calls; the results stand before the count that closes the call."""
    script = begun(Script())
    script.reasons("gAAAAB" + "x" * 80)
    script.says("Looking.", "commentary")
    script.calls("call_00000000000001")
    script.calls("call_00000000000002")
    script.output("call_00000000000001", "a.py")
    script.output("call_00000000000002", "b.py")
    script.counts(10_000, 4_480, 100, 60)
    script.repeat(count(10_000, 4_480, 100, 60))
    script.says("Two files.")
    script.counts(10_200, 9_984, 12)
    script.event("task_complete", turn_id="t", last_agent_message="Two files.")
    return script.dump()


@odd
def compacted() -> bytes:
    """The replacement history stands instead of everything; a count of zeros tells its size."""
    script = begun(Script())
    script.says("Done.")
    script.counts(88_000, 87_168, 40)
    user = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "list the files"}]}
    history = [user, {"type": "compaction", "encrypted_content": "gAAAAA"}]
    script.put("compacted", {"message": "", "replacement_history": history})
    script.context()
    script.repeat({**count(), "total_tokens": 13_290})
    script.event("context_compacted")
    script.says("Going on.")
    script.counts(16_560, 9_600, 20)
    return script.dump()


@odd
def compacted_in_words() -> bytes:
    """Old files hold only the summary; what users said is kept. The compaction's own request was counted."""
    script = begun(Script())
    script.says("Done.")
    script.counts(88_000, 87_168, 40)
    script.counts(88_100, 87_936, 500)
    script.put("compacted", {"message": "The files were listed."})
    script.user("go on")
    script.says("Going on.")
    script.counts(12_000, 0, 20)
    return script.dump()


@odd
def aborted() -> bytes:
    """A turn is interrupted before its count; the totals tell later what it used."""
    script = begun(Script())
    script.calls("call_00000000000001")
    script.output("call_00000000000001", "aborted by user after 3s")
    notice = [{"type": "input_text", "text": "<turn_aborted>\nThe user interrupted the turn.\n</turn_aborted>"}]
    script.item("message", role="user", content=notice)
    script.event("turn_aborted", turn_id="t", reason="interrupted")
    script.user("do it otherwise")
    script.total = count(500, 128, 7)
    script.says("Ok.")
    script.counts(900, 384, 5)
    script.user("and?")
    script.says("No count follows.")
    return script.dump()


@odd
def aborted_after_a_count() -> bytes:
    """As above, but with an earlier count, from which the totals go on."""
    script = begun(Script())
    script.says("One.")
    script.counts(400, 0, 5)
    script.user("two?")
    script.calls("call_00000000000001")
    script.event("turn_aborted", turn_id="t", reason="interrupted")
    script.total = {key: value + count(500, 128, 7)[key] for key, value in script.total.items()}
    script.user("otherwise")
    script.says("Ok.")
    script.counts(900, 384, 5)
    return script.dump()


@odd
def other_model() -> bytes:
    """The model and its window change between two turns."""
    script = begun(Script(model="gpt-5.3-codex-spark"))
    script.says("One.")
    script.counts(400, 0, 5)
    script.window = 400_000
    script.context("gpt-5.5")
    script.user("two?")
    script.says("Two.")
    script.counts(500, 0, 5)
    return script.dump()


@odd
def rolled_back() -> bytes:
    """The last turn is taken back."""
    script = begun(Script())
    script.says("One.")
    script.counts(400, 0, 5)
    script.user("wrong")
    script.says("Wrong answer.")
    script.counts(450, 384, 5)
    script.event("thread_rolled_back", num_turns=1)
    script.user("right")
    script.says("Right answer.")
    script.counts(451, 384, 5)
    return script.dump()


def limits(used: float, week: float, **more: object) -> Record:
    """Shares of five hours and of a week in percent, as 0.141 writes them down."""
    windows = {"primary": (used, 300, 1_782_147_435), "secondary": (week, 10_080, 1_782_708_127)}
    told = {
        name: {"used_percent": percent, "window_minutes": minutes, "resets_at": resets}
        for name, (percent, minutes, resets) in windows.items()
    }
    return {"limit_id": "codex", "limit_name": None, **told, "credits": None, "plan_type": "pro", **more}


@odd
def quotas() -> bytes:
    """What is left of a subscription stands beside each count, also of one that counts nothing; others are not told
    of."""
    script = begun(Script())
    script.limits = limits(1.0, 2.0)
    script.says("Done.")
    script.counts(10_000, 4_480, 100, 60)
    script.limits = limits(31.5, 7.0)
    script.repeat(count(10_000, 4_480, 100, 60))
    script.user("go on")
    script.event("token_count", info=None, rate_limits=limits(104.0, 7.0, rate_limit_reached_type="primary"))
    script.event("token_count", info=None, rate_limits={"primary": None, "secondary": {"used_percent": "many"}})
    script.limits = {"primary": None, "secondary": None}
    script.counts(10_200, 9_984, 12)
    return script.dump()


@odd
def errors() -> bytes:
    """Errors, a rate limit without figures, unknown types, items that are no request's."""
    script = begun(Script())
    script.event("token_count", info=None, rate_limits={})
    script.event("stream_error", message="stream disconnected, retrying 1/5")
    script.item("ghost_snapshot", ghost_commit={"id": "abc"})
    script.item("hologram_call", call_id="call_00000000000009", beam=1)
    script.item("hologram_call_output", call_id="call_00000000000009", output=[{"type": "input_text", "text": "3D"}])
    script.put("hologram_state", {"x": 1})
    script.says("Ok.")
    script.counts(400, 0, 5)
    return script.dump()
