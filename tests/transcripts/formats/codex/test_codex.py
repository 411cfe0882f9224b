"""Codex rollouts: what each oddity becomes. The scripts are in tests/cases/codex_odd.py."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ctxtui.core.call import WINDOW, EpochStart
from ctxtui.core.usage import Usage
from ctxtui.transcripts.kit.quota import read_quota_headers, read_rate_limits
from tests.cases import codex
from tests.cases.codex_odd import ODDITIES
from tests.corpus import corpus_params
from tests.transcripts.driving import Read, read
from tests.transcripts.soundness import soundness

INSTRUCTIONS = "You are Codex, a coding agent."
QUESTION = ["user:", "input_text list the files"]


def odd(name: str) -> Read:
    return read(ODDITIES[f"codex_{name}"]())


def contexts(found: Read) -> list[list[str]]:
    return [found.context(c.id) for c in found.calls]


def test_a_call_ends_at_its_token_count() -> None:
    found = odd("a_turn")
    first, second = found.calls
    assert first.usage == Usage(fresh=5520, cache_read=4480, output=100, reasoning=60)
    assert [line.partition(" ")[0] for line in found.answer(first.id)] == [
        "reasoning",
        "assistant:",
        "output_text",
        "function_call(call_00000000000001)",
        "function_call(call_00000000000002)",
    ]
    outputs = ["function_call_output(call_00000000000001) a.py", "function_call_output(call_00000000000002) b.py"]
    assert found.context(second.id)[-2:] == outputs
    assert second.usage is not None and second.usage.input == 10_200
    assert (first.model, first.provider, first.extra["effort"]) == ("gpt-5.5", "openai", "high")
    assert first.extra[WINDOW] == 258_400


def test_what_the_client_says_is_marked() -> None:
    found = odd("a_turn")
    context = found.context(found.calls[0].id)
    assert context[0] == INSTRUCTIONS
    assert context[4].startswith("memory|input_text # AGENTS.md")
    assert context[5].startswith("meta|input_text <environment_context>")
    assert context[-2:] == QUESTION
    assert found.session.about.title == "list the files"
    assert found.session.about.window == 258_400


def test_a_compaction_replaces_everything_but_the_instructions() -> None:
    found = odd("compacted")
    after = found.calls[1]
    assert found.context(after.id) == [INSTRUCTIONS, *QUESTION, "compaction "]
    assert (after.epoch.start, after.epoch.detail) == (EpochStart.COMPACTION, "88.0k → 16.6k · by codex")
    assert len(found.calls) == 2, "a count of zeros is no call"


def test_a_compaction_in_words_keeps_what_was_asked() -> None:
    found = odd("compacted_in_words")
    before, after = found.calls
    (its_own,) = found.session.thread_calls("compaction 1")
    assert its_own.raw_head == its_own.response_head == before.response_head
    assert its_own.usage is not None and its_own.usage.output == 500
    context = found.context(after.id)
    assert context[-4:] == ["user:", "summary|The files were listed.", "user:", "input_text go on"]
    assert "input_text list the files" in context and "output_text Done." not in context


def test_a_compaction_after_the_next_prompt_was_not_made_by_the_last_call() -> None:
    script = codex.Script()
    script.meta()
    script.context()
    script.user("list the files")
    script.says("Done.")
    script.counts(900, 0, 20)
    script.counts(1000, 0, 50)
    script.user("go on")
    script.put("compacted", {"message": "The files were listed."})
    found = read(script.dump())
    assert [call.thread for call in found.calls] == ["main", "main"] and list(found.session.threads) == ["main"]


def test_an_aborted_call_has_no_usage_of_its_own() -> None:
    found = odd("aborted")
    assert [c.usage and c.usage.input for c in found.calls] == [None, 900, None]
    assert [(h.kind, h.text) for h in found.session.happenings] == [("interrupt", "interrupted")]


def test_totals_tell_what_an_aborted_call_used() -> None:
    usages = [c.usage for c in odd("aborted_after_a_count").calls]
    assert usages[1] == Usage(fresh=372, cache_read=128, output=7)
    assert [u and u.input for u in usages] == [400, 500, 900]


def test_another_model_begins_an_epoch() -> None:
    found = odd("other_model")
    epoch = found.calls[1].epoch
    assert (epoch.number, epoch.start, epoch.detail) == (2, EpochStart.MODEL, "gpt-5.3-codex-spark → gpt-5.5")
    assert found.session.about.window == 400_000


def test_a_turn_can_be_taken_back() -> None:
    found = odd("rolled_back")
    one, _, right = found.calls
    assert found.context(right.id)[-2:] == ["user:", "input_text right"]
    assert found.session.tree.holds(right.raw_head, one.response_head)
    assert "input_text wrong" not in found.context(right.id)
    assert right.epoch.start is EpochStart.REWIND


def test_a_prompt_that_is_only_a_picture_can_be_taken_back() -> None:
    script = codex.Script()
    script.meta()
    script.context()
    script.user("list the files")
    script.says("Done.")
    script.item("message", role="user", content=[{"type": "input_image", "image_url": "data:image/png;base64,AAAA"}])
    script.says("A cat.")
    script.event("thread_rolled_back", num_turns=1)
    assert read(script.dump()).tip()[-4:] == [*QUESTION, "assistant:", "output_text Done."]


def test_errors_and_unknown_records() -> None:
    found = odd("errors")
    assert [(h.kind, h.text) for h in found.session.happenings] == [("api error", "stream disconnected, retrying 1/5")]
    assert "hologram_call_output(call_00000000000009) 3D" in found.tip()
    assert not [words for words in found.tip() if "ghost" in words]


def test_a_fork_has_the_calls_of_what_it_came_from() -> None:
    found, origin = odd("forked"), odd("a_turn")
    assert found.session.about.id.endswith("f")
    assert list(origin.session.calls) == list(found.session.calls)[:2]
    assert len(found.calls) == 3


@pytest.mark.parametrize("name", ["without_counts", "bare_items", "one_object"])
def test_calls_without_any_count(name: str) -> None:
    found = odd(name)
    assert len(found.calls) == 3
    assert all(c.usage is None for c in found.calls)
    assert found.context(found.calls[1].id)[-1] == "function_call_output(call_00000000000001) a.py"
    assert found.tip()[-1] == "output_text Welcome."


def test_broken_lines_are_listed() -> None:
    found = odd("broken_lines")
    assert [s.line for s in found.session.skipped] == [6, 7]
    assert found.tip()[-3].startswith("unreadable line 6: not JSON")
    assert found.tip()[-1] == "input_text list \ud83d files"


def test_generated_rollouts_are_sound() -> None:
    found = read(codex.generate(400, 3, compactions=2))
    figures = soundness(found.session)
    assert figures.exceptions == [] and figures.append_only == figures.steps
    assert {c.epoch.start for c in found.calls} == {EpochStart.START, EpochStart.COMPACTION}


def test_the_newest_report_on_each_quota_window_is_kept_as_it_was_said() -> None:
    found = odd("quotas")
    short, long = found.session.quotas
    assert (short.limit, short.minutes, short.used, short.resets) == ("codex", 300, 1.04, 1_782_147_435)
    assert (long.minutes, long.used, long.at) == (10_080, 0.07, short.at)
    assert json.loads(short.raw)["rate_limit_reached_type"] == "primary", "a count of nothing reports it, too"
    assert short.begins == 1_782_147_435 - 5 * 3600 and odd("a_turn").session.quotas == []


@pytest.mark.parametrize("path", corpus_params("codex"))
def test_what_recordings_report_is_what_their_lines_say(path: Path) -> None:
    """The last line of each window, taken out of the file by itself."""
    last: dict[tuple[str, int], tuple[float, int]] = {}
    for line in path.read_bytes().splitlines():
        if b'"rate_limits":{' in line:
            told = json.loads(line)["payload"]["rate_limits"]
            for window in filter(None, (told["primary"], told["secondary"])):
                last[told["limit_id"], window["window_minutes"]] = window["used_percent"], window["resets_at"]
    found = read(path.read_bytes()).session.quotas
    assert {(one.limit, one.minutes): (one.used * 100, one.resets) for one in found} == {
        key: (pytest.approx(used), resets) for key, (used, resets) in last.items()
    }


def test_a_quota_that_resets_after_the_calendar_has_no_known_reset() -> None:
    window = {"used_percent": 10, "window_minutes": 300}
    for more in ({"resets_at": 10**15}, {"resets_in_seconds": 10**15}):
        (report,) = read_rate_limits({"primary": {**window, **more}}, 1_782_147_435.0)
        assert report.resets == 0
    (report,) = read_quota_headers(
        [("anthropic-ratelimit-unified-5h-utilization", "0.5"), ("anthropic-ratelimit-unified-5h-reset", "1e15")], None
    )
    assert report.resets == 0
