"""The window in force: the client's own limit where it is known or shown."""

from __future__ import annotations

from pathlib import Path
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from ctxtui.analysis import window_signs
from ctxtui.analysis.book import Book
from ctxtui.analysis.context_window import (
    CLIENT,
    COMPACTION,
    MODEL,
    RECORDED,
    REQUESTED,
    SEEN,
    USER,
    ContextWindow,
    context_window,
)
from ctxtui.analysis.window_signs import WindowSigns, compaction_size
from ctxtui.core import block
from ctxtui.core.call import COMPACTED, Fidelity
from ctxtui.core.session import CallSeen, Described
from ctxtui.core.usage import Usage
from ctxtui.services.config.package_data import model_table
from ctxtui.services.config.settings import Settings
from ctxtui.services.counting.books import table_for
from ctxtui.services.recordings.open import load
from tests.analysis.sessions import Script, book
from tests.services.lookalike import ClaudeCode, lines

BETA = "context-1m-2025-08-07"


def script(model: str, source: str, *sizes: int, window: int = 0, **extra: object) -> Book:
    """A session of `source` whose calls report inputs of `sizes`."""
    made = Script(model)
    made.session.apply(Described(source=source, window=window))
    for size in sizes or (50_000,):
        call = made.hear(block.text(str(size))).call(block.text("ok"), usage=Usage(fresh=size))
        call.extra.update(extra)  # type: ignore[arg-type]
        made.session.apply(CallSeen(call))
    return book(made.session, model_table())


def of(counted: Book, share: float = 0.75) -> ContextWindow:
    return context_window(counted, list(counted.session.calls.values())[-1], share)


@pytest.mark.parametrize(
    ("model", "source", "limit", "origin"),
    [
        ("claude-opus-4-6", "claude code", 200_000, CLIENT),
        ("claude-sonnet-4-6", "claude code", 200_000, CLIENT),
        ("claude-opus-4-6", "anthropic", 1_000_000, MODEL),
        ("claude-opus-4-5", "claude code", 200_000, MODEL),
        ("claude-opus-4-8", "claude code", 1_000_000, MODEL),
        ("claude-opus-5-5", "claude code", 1_000_000, MODEL),
        ("claude-opus-4-6[1m]", "claude code", 1_000_000, REQUESTED),
        ("somebody/else-3", "claude code", 200_000, CLIENT),
        ("deepseek-chat", "claude code", 128_000, MODEL),
        ("somebody/else-3", "openai chat", 0, ""),
    ],
)
def test_the_limit_is_the_clients_where_it_is_less_than_the_models(
    model: str, source: str, limit: int, origin: str
) -> None:
    found = of(script(model, source))
    assert (found.limit, found.origin, found.usable) == (limit, origin, round(limit * 0.75))


def test_a_beta_or_a_larger_report_says_that_the_long_window_is_in_force() -> None:
    asked = of(script("claude-opus-4-6", "claude code", betas=["claude-code-20250219", BETA]))
    assert (asked.limit, asked.origin) == (1_000_000, REQUESTED)
    seen = of(script("claude-opus-4-6", "claude code", 90_000, 201_000, 30_000))
    assert (seen.limit, seen.origin) == (1_000_000, SEEN)
    older = of(script("claude-sonnet-4-20250514", "claude code", 430_000))
    assert (older.limit, older.origin, older.model) == (1_000_000, SEEN, 1_000_000)
    beyond = of(script("claude-opus-4-1", "anthropic", 230_000))
    assert (beyond.limit, beyond.origin) == (230_000, SEEN), "no window is smaller than what was read"


def test_a_report_that_adds_up_several_passes_shows_no_larger_window() -> None:
    found = of(script("claude-opus-4-6", "claude code", 260_000, server_tool_use={"web_search_requests": 3}))
    assert (found.limit, found.origin) == (200_000, CLIENT)


def test_what_the_recording_names_is_in_force_for_the_calls_it_is_named_for() -> None:
    counted = script("gpt-5.5", "codex", 10_000, window=258_400)
    assert (of(counted).limit, of(counted).origin, of(counted).model) == (258_400, RECORDED, 1_000_000)
    (call,) = counted.session.calls.values()
    call.extra["context_window"] = 121_600
    assert of(counted).limit == 121_600
    call.extra["context_window"] = "odd"
    assert of(counted).limit == 258_400


def test_a_setting_goes_before_what_is_assumed_and_not_before_a_smaller_limit() -> None:
    made = script("claude-opus-4-6", "claude code")
    mine = Book(made.session, table_for(Settings(windows={"claude-opus-4-6": 400_000})), made.measure)  # type: ignore[arg-type]
    assert (of(mine).limit, of(mine).origin) == (400_000, USER)
    told = script("gpt-5.5", "codex", window=258_400)
    wide = Book(told.session, table_for(Settings(windows={"gpt-5.5": 900_000})), told.measure)  # type: ignore[arg-type]
    assert (of(wide).limit, of(wide).origin) == (258_400, RECORDED)


@pytest.mark.parametrize("noted", [None, "auto", 7, {}, {"trigger": "auto"}, {"trigger": "auto", "tokens": "many"}])
def test_an_odd_note_of_a_compaction_tells_no_limit(noted: object) -> None:
    counted = script("claude-opus-4-6", "claude code", compacted=noted)
    assert compaction_size(next(iter(counted.session.calls.values()))) == 0
    assert of(counted).origin == CLIENT


def recorded(folder: Path, trigger: str | None, before: int, after: int = 900) -> Path:
    """A Claude Code session of Opus 4.6 that was compacted at about `before` tokens."""
    client = ClaudeCode(model="claude-opus-4-6")
    rows = [client.user("begin"), *client.answer("read", {"command": "cat all"}, before)]
    rows += [client.result("a\nb"), *client.answer("done", written=500)]
    boundary, summary = client.compaction("what was before")
    boundary["compactMetadata"] = {"preTokens": before + 1_000, **({"trigger": trigger} if trigger else {})}
    rows += [boundary, summary, *client.answer("and on", written=after)]
    path = folder / "session.jsonl"
    path.write_bytes(lines(rows))
    return path


@pytest.mark.parametrize(
    ("trigger", "limit", "origin"),
    [("auto", 168_000, COMPACTION), ("manual", 200_000, CLIENT), (None, 200_000, CLIENT)],
)
def test_where_the_client_compacts_by_itself_is_its_limit(
    tmp_path: Path, trigger: str | None, limit: int, origin: str
) -> None:
    session = load(recorded(tmp_path, trigger, 167_000)).session
    found = of(book(session, model_table()))
    assert (found.limit, found.origin) == (limit, origin)
    assert (found.usable, found.window, found.model) == (150_000, 200_000, 1_000_000)


def test_a_limit_that_was_passed_later_is_not_the_one_in_force(tmp_path: Path) -> None:
    session = load(recorded(tmp_path, "auto", 80_000, after=150_000)).session
    assert of(book(session, model_table())).origin == CLIENT


def shown_by(folder: Path, *rows: dict[str, object]) -> ContextWindow:
    client = ClaudeCode(model="claude-opus-4-6")
    path = folder / "shown.jsonl"
    path.write_bytes(lines([*client.turns(1), *(client.record(**row) for row in rows), *client.turns(1, "on")]))  # type: ignore[arg-type]
    return of(book(load(path).session, model_table()))


PICTURE = (
    "<local-command-stdout>\x1b[1mContext Usage\x1b[22m\n\x1b[2mclaude-opus-4-6[1m] \u2022 430k/1000k tokens (43%)"
)
SHORT = "<local-command-stdout> Context usage\n 23.2k/1m tokens (2%)"


@pytest.mark.parametrize(
    ("row", "limit", "origin"),
    [
        ({"kind": "user", "message": {"role": "user", "content": PICTURE}}, 1_000_000, RECORDED),
        (
            {"kind": "system", "subtype": "local_command", "content": SHORT},
            1_000_000,
            RECORDED,
        ),
        ({"kind": "user", "message": {"role": "user", "content": PICTURE[22:]}}, 200_000, CLIENT),
        (
            {"kind": "system", "subtype": "local_command", "content": SHORT.replace("/1m", f"/{'9' * 400}m")},
            200_000,
            CLIENT,
        ),
        ({"kind": "user", "message": {"role": "user", "content": PICTURE.replace("Usage", "")}}, 200_000, CLIENT),
        ({"kind": "system", "subtype": "local_command", "content": {"odd": 1}}, 200_000, CLIENT),
        (
            {"kind": "attachment", "attachment": {"type": "model", "identity": {"modelId": "claude-opus-4-6[1m]"}}},
            1_000_000,
            RECORDED,
        ),
        ({"kind": "attachment", "attachment": {"type": "model", "identity": [1]}}, 200_000, CLIENT),
        ({"kind": "cost-state", "modelUsage": {"claude-opus-4-6[1m]": {"outputTokens": 5}}}, 1_000_000, RECORDED),
        ({"kind": "cost-state", "modelUsage": ["odd"]}, 200_000, CLIENT),
    ],
)
def test_what_the_client_showed_of_its_window_is_in_force(
    tmp_path: Path, row: dict[str, object], limit: int, origin: str
) -> None:
    found = shown_by(tmp_path, row)
    assert (found.limit, found.origin) == (limit, origin)


def test_a_window_that_one_model_showed_is_no_more_than_another_takes(tmp_path: Path) -> None:
    made = script("claude-haiku-4-5", "claude code", window=1_000_000)
    assert of(made).limit == 200_000


def test_calls_known_by_their_sums_alone_show_no_larger_window() -> None:
    made = Script("claude-opus-4-6", Fidelity.TOTALS)
    made.session.apply(Described(source="claude code"))
    made.hear(block.text("sums")).call(block.text("ok"), usage=Usage(fresh=900_000))
    assert of(book(made.session, model_table())).origin == CLIENT


@given(
    st.lists(st.tuples(st.integers(1, 300_000), st.booleans(), st.booleans()), max_size=20),
    st.lists(st.integers(0, 3), min_size=20, max_size=20),
    st.data(),
)
def test_looked_at_on_the_way_the_windows_shown_are_those_of_one_look(
    calls: list[tuple[int, bool, bool]], moments: list[int], data: st.DataObject
) -> None:
    made = Script("claude-opus-4-6")
    seen = WindowSigns(made.session)
    with patch.object(window_signs, "_UNSETTLED_CALLS", 2):
        for (size, compacted, other), moment in zip(calls, moments, strict=False):
            call = made.hear(block.text(str(size))).call(block.text("ok"), usage=Usage(fresh=size))
            found = {COMPACTED: {"trigger": "auto", "tokens": size}} if compacted else {}
            model = "claude-opus-4-5" if other else call.model
            made.session.apply(CallSeen(replace(call, model=model, extra={**call.extra, **found})))
            if moment:
                seen.signs_of(call.model)
            if moment == 3:
                # One of the calls says something else by now.
                again = data.draw(st.sampled_from(list(made.session.calls.values())))
                made.session.apply(CallSeen(replace(again, usage=Usage(fresh=1))))
                made.hear(block.text("on"))
        for model in ("claude-opus-4-6", "claude-opus-4-5"):
            made.hear(block.text("and on"))
            assert seen.signs_of(model) == WindowSigns(made.session).signs_of(model)
