"""What ctxtui recorded of a program and the program's own transcript are one session, whichever of them is opened."""

from __future__ import annotations

import json
import random
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from msgspec.structs import replace

from ctxtui.analysis.call_choice import choose_call
from ctxtui.cli.run import run
from ctxtui.core.call import BY_TRANSCRIPT, Call, Fidelity, provider_id
from ctxtui.core.errors import BadConfig
from ctxtui.core.session import Session
from ctxtui.services.attach.forking.recorded_answers import collect_answers
from ctxtui.services.config.config import load as load_config
from ctxtui.services.config.paths import attached_dir
from ctxtui.services.config.settings import Settings
from ctxtui.services.editing.exporting import copy_own_transcript
from ctxtui.services.library.library import SessionLibrary
from ctxtui.services.library.totals.summary_cache import read_usages
from ctxtui.services.recordings.joined_recording import JoinedRecording
from ctxtui.services.recordings.open import load, open_recording
from ctxtui.services.recordings.open_by_name import locate
from ctxtui.transcripts.joined import SessionJoin, events_between
from ctxtui.wire.registry import encode
from ctxtui.wire.request import Request
from tests.corpus import ABSENT, corpus_files, few_params
from tests.joined_session import exchanges, planted, recorded
from tests.pty_app import environment, plant
from tests.services.library.test_own_transcripts import record

WIRED = [path.parent for path in corpus_files("clients", "*/*/wire.jsonl")]
NAMED = lambda path: f"{path.parent.name}-{path.name}"  # noqa: E731
BETWEEN = {"all": (1, 999), "the middle": (4, 7), "from the fourth": (4, 999), "the first five": (1, 5)}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, value in environment(tmp_path / "home").items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    return tmp_path / "home"


def markers(value: Any, path: str = "") -> list[str]:
    """Where the cache markers of a body stand."""
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    below = [one for key, item in members for one in markers(item, f"{path}.{key}")]
    return [path, *below] if isinstance(value, dict) and "cache_control" in value else below


def body_of(session: Session, call: Call) -> str:
    assert call.skeleton is not None
    request = Request(tuple(session.tree.items(call.sent_head)), call.skeleton)
    return encode(request).decode()


@pytest.mark.skipif(not WIRED, reason=f"{ABSENT}: clients")
@pytest.mark.parametrize(
    "part",
    [pytest.param(part, marks=[pytest.mark.slow] if 1 < last < 999 else []) for part, (_, last) in BETWEEN.items()],
)
@pytest.mark.parametrize("folder", few_params(WIRED, NAMED))
def test_a_real_clients_session_has_each_call_once(home: Path, folder: Path, part: str) -> None:
    first, last = BETWEEN[part]
    transcript = planted(folder, home)
    path = recorded(folder, lambda number: first <= number <= last)
    before = {file: file.read_bytes() for file in home.rglob("*.jsonl")}
    wire, own, joined = load(path, own=""), load(transcript, own=""), load(path)
    assert isinstance(joined, JoinedRecording)
    session = joined.session
    # Either one that is opened gives it.
    other = load(transcript)
    assert other.session.calls == session.calls and other.session.order == session.order and other.path == path
    assert other.session.about == session.about and session.about.title == own.session.about.title
    # Union by the provider's ids: none twice, none lost; the rest of a sum that the client tells is no call.
    ours = {provider_id(call) for call in wire.session.calls.values()}
    theirs = {
        provider_id(call) for call in own.session.calls.values() if call.fidelity != Fidelity.TOTALS and call.usage
    }
    found = [provider_id(call) for call in session.calls.values() if call.fidelity != Fidelity.TOTALS]
    assert len(found) == len(set(found)) and ours | theirs <= set(found)
    refused = [call for call in own.session.calls.values() if call.usage is None]
    assert len(found) <= len(ours | theirs) + len(refused)
    assert sorted(id_ for ids in session.order.values() for id_ in ids) == sorted(session.calls)
    for thread, ids in own.session.order.items():
        names = [provider_id(own.session.calls[id_]) for id_ in ids]
        there = [id_ for id_ in session.order.get(thread, ()) if id_ in set(names)]
        assert there == [name for name in names if name in set(there)], thread
        assert session.threads.get(thread) is None or session.threads[thread].label == own.session.threads[thread].label
    # What went over the wire is there to the byte, with usage and the transcript's epochs.
    sent = {one["request"] for one in exchanges(folder / "wire.jsonl")}
    by_wire = [call for call in session.calls.values() if BY_TRANSCRIPT not in call.extra]
    assert len(by_wire) == len(wire.session.calls)
    for call in by_wire:
        assert call.skeleton is None or body_of(session, call) in sent
        assert call.usage == wire.session.calls[call.id].usage
    epochs = {provider_id(call): call.epoch for call in own.session.calls.values() if call.usage}
    assert all(call.epoch == epochs[call.id] for call in by_wire if call.id in epochs)
    assert {file: file.read_bytes() for file in before} == before


@pytest.mark.skipif(not WIRED, reason=f"{ABSENT}: clients")
@pytest.mark.parametrize("folder", few_params([path for path in WIRED if "-2.1.3" in path.parent.name], NAMED))
def test_cache_markers_of_a_request_that_only_the_client_wrote_down_are_where_they_were(
    home: Path, folder: Path
) -> None:
    """The client leaves the first text of the system prompt out of its own records: behind what went over the wire
    the blocks of its requests stand elsewhere than there."""
    planted(folder, home)
    session = load(recorded(folder, lambda number: 4 <= number <= 7)).session
    asked = list(exchanges(folder / "wire.jsonl"))
    for call in session.calls.values():
        sent = [json.loads(one["request"]) for one in asked if f'"{call.id}"' in one["response"]]
        if sent and call.skeleton is not None:
            made = json.loads(body_of(session, call))
            goes_on = len(made["system"]) == len(sent[0]["system"])
            assert not goes_on or sorted(markers(made)) == sorted(markers(sent[0])), call.id


@pytest.mark.skipif(not WIRED, reason=f"{ABSENT}: clients")
@pytest.mark.parametrize(
    # The corpus's Codex answers tell other figures than its rollouts: tools were lent to it on the way.
    "folder",
    few_params([path for path in WIRED if "claude" in path.parent.name], NAMED),
)
def test_tokens_are_the_clients_own_count(home: Path, folder: Path) -> None:
    """Where the client counts what it used itself, the joined session comes to the same: its side calls are the wire's,
    and not both."""
    transcript = planted(folder, home)
    own = load(transcript, own="").session
    session = load(recorded(folder)).session

    def tokens(of: Session) -> int:
        return sum(call.usage.input + call.output for call in of.calls.values() if call.usage)

    counted = any(call.fidelity == Fidelity.TOTALS for call in own.calls.values())
    alone = [call for call in session.calls.values() if call.id not in {provider_id(one) for one in own.calls.values()}]
    beside = 0 if counted else sum(call.usage.input + call.output for call in alone if call.usage)
    assert tokens(session) == tokens(own) + beside


@pytest.mark.skipif(not WIRED, reason=f"{ABSENT}: clients")
@pytest.mark.parametrize(
    "folder",
    few_params([path for path in WIRED if "claude" in path.parent.name], NAMED),
)
def test_a_request_has_the_same_beta_features_on_either_record(home: Path, folder: Path) -> None:
    """A transcript that lags behind the wire leaves no call without those that the others name: it would seem to be
    another request to the cache."""
    transcript = planted(folder, home)
    path = recorded(folder)
    wire, own, joined = load(path, own="").session, load(transcript, own="").session, load(path).session
    for call in joined.calls.values():
        alone = wire.calls.get(call.id)
        if alone is not None and provider_id(alone).startswith("msg_"):
            assert call.extra.get("betas") == alone.extra.get("betas") and alone.extra.get("betas"), call.id
    for call in own.calls.values():
        there = wire.calls.get(provider_id(call))
        if there is not None and "betas" in call.extra:
            assert call.extra["betas"] == there.extra["betas"], call.id


@pytest.mark.skipif(not WIRED, reason=f"{ABSENT}: clients")
@pytest.mark.parametrize("folder", WIRED[:4], ids=lambda path: f"{path.parent.name}-{path.name}")
def test_lists_and_the_quick_pass_have_the_same_calls(home: Path, tmp_path: Path, folder: Path) -> None:
    planted(folder, home)
    path = recorded(folder, lambda number: 3 <= number <= 6)
    session = load(path).session
    library = SessionLibrary(load_config(cwd=tmp_path).settings, tmp_path)
    rows = [one for one in library.list_fast() if one.id == path.stem]
    (row,) = rows
    (known,) = library.figures(rows, Event())
    (quick,) = read_usages(rows, load_config(cwd=tmp_path).settings)
    for told in (known, quick):
        assert [call.id for call in told.spent] == list(session.calls)
        used = [call.usage.input + call.output if call.usage else 0 for call in session.calls.values()]
        assert [call.tokens for call in told.spent] == used
    assert known.total_tokens == quick.total_tokens and known.cost_usd == pytest.approx(quick.cost_usd)
    # A folder with one of the two brings both.
    (inside,) = [one for one in library.in_folder(Path(row.own).parent) if one.id == path.stem]
    assert (inside.key, inside.own, inside.size) == (row.key, row.own, row.size)


def test_grown_in_pieces_it_is_the_same(home: Path, tmp_path: Path) -> None:
    transcript = plant(home, tmp_path)
    calls = list(load(transcript, own="").session.calls.values())
    path = record(calls[2:], transcript.stem)
    whole = {file: file.read_bytes() for file in (path, transcript)}
    expected = load(path).session
    for seed in range(6):
        chance = random.Random(seed)
        there = {file: data.find(b"\n", len(data) // 3) + 1 for file, data in whole.items()}
        for file, data in whole.items():
            file.write_bytes(data[: there[file]])
        loaded = load(path)
        while any(there[file] < len(data) for file, data in whole.items()):
            file = chance.choice([one for one, data in whole.items() if there[one] < len(data)])
            more = chance.randint(1, 40_000)
            with file.open("ab") as out:
                out.write(whole[file][there[file] : there[file] + more])
            there[file] += more
            loaded.more()
        loaded.more()
        session = loaded.session
        assert set(session.calls) == set(expected.calls)
        assert session.about == expected.about and not loaded.skipped
        for id_, call in session.calls.items():
            known = expected.calls[id_]
            assert (call.usage, call.thread, call.epoch, call.extra) == (
                known.usage,
                known.thread,
                known.epoch,
                known.extra,
            )
        assert sorted(session.threads) == sorted(expected.threads)


def test_a_transcript_that_comes_later_is_joined(home: Path, tmp_path: Path) -> None:
    transcript = plant(home, tmp_path)
    data = transcript.read_bytes()
    calls = list(load(transcript, own="").session.calls.values())
    transcript.unlink()
    path = record(calls[:1], transcript.stem)
    loaded = load(path)
    assert len(loaded.session.calls) == 1 and loaded.paths == [path]
    transcript.write_bytes(data)
    more = record(calls[1:2], transcript.stem)
    assert more == path
    loaded.more()
    assert len(loaded.session.calls) == len(calls) and transcript in loaded.paths


def test_a_name_means_both(home: Path, tmp_path: Path) -> None:
    transcript = plant(home, tmp_path)
    calls = list(load(transcript, own="").session.calls.values())
    path = record(calls[1:], transcript.stem)
    assert (
        locate(transcript.stem, tmp_path, Settings()).path
        == locate(transcript.stem[:8], tmp_path, Settings()).path
        == path
    )
    assert load(transcript).session.calls.keys() == {call.id for call in calls}


def test_a_transcript_that_cannot_be_read_is_said_and_left_out(home: Path, tmp_path: Path) -> None:
    transcript = plant(home, tmp_path)
    calls = list(load(transcript, own="").session.calls.values())
    path = record(calls, transcript.stem)
    transcript.write_text("no JSON at all\n")
    loaded = load(path)
    assert len(loaded.session.calls) == len(calls)
    assert "left out" in loaded.skipped[-1].reason


def test_a_transcript_that_can_be_read_later_is_joined_and_no_longer_said_to_be_left_out(
    home: Path, tmp_path: Path
) -> None:
    transcript = plant(home, tmp_path)
    data = transcript.read_bytes()
    calls = list(load(transcript, own="").session.calls.values())
    path = record(calls[:1], transcript.stem)
    transcript.write_text("no JSON at all\n")
    loaded = load(path)
    assert "left out" in loaded.skipped[-1].reason
    transcript.write_bytes(data)
    record(calls[1:2], transcript.stem)
    loaded.more()
    assert transcript in loaded.paths and not loaded.skipped


def test_clients_without_ids_are_joined_by_tokens_and_time_and_doubt_is_said(home: Path, tmp_path: Path) -> None:
    transcript = plant(home, tmp_path)
    own = load(transcript, own="").session
    calls = list(own.calls.values())[:6]
    wire = load(record(calls, "other"), own="").session
    assert list(wire.calls) == [call.id for call in calls]
    for number, (id_, call) in enumerate(list(wire.calls.items())):
        # The client gives ids of its own, and its clock reads a little before and after.
        began = 100.0 * number
        wire.calls[id_] = replace(call, started=began, ended=began + 5)
        own.calls[id_] = replace(own.calls[id_], id=f"own-{number}", started=began - 0.2, ended=began + 5.2)
    own.calls = {call.id: call for call in own.calls.values()}
    own.order = {"main": list(own.calls)}
    found = SessionJoin(wire, own).join()
    assert [call.id for call in found.calls.values()][:6] == [call.id for call in calls]
    assert len(found.calls) == len(own.calls) and not found.skipped
    # Another count at the same time: whether that is the same call nobody can tell.
    usage = own.calls["own-3"].usage
    assert usage is not None
    own.calls["own-3"] = replace(own.calls["own-3"], usage=replace(usage, output=usage.output + 1))
    found = SessionJoin(wire, own).join()
    assert len(found.calls) == len(own.calls) + 1
    assert "1 of its calls could not be joined" in found.skipped[-1].reason


def test_calls_that_come_between_make_another_session() -> None:
    one, two = Call("a", "main"), Call("b", "main")
    old, new = Session(), Session()
    for session, calls in ((old, [two]), (new, [one, two])):
        session.calls, session.order = {call.id: call for call in calls}, {"main": [call.id for call in calls]}
    assert events_between(old, new) is None and events_between(new, new) == []


def test_what_ctxtui_did_not_record_is_opened_as_ever(home: Path, tmp_path: Path) -> None:
    transcript = plant(home, tmp_path)
    assert not isinstance(open_recording(transcript)[0], JoinedRecording)
    # A copy elsewhere is a recording by itself.
    record(list(load(transcript).session.calls.values()), transcript.stem)
    copy = tmp_path / transcript.name
    copy.write_bytes(transcript.read_bytes())
    assert not isinstance(open_recording(copy)[0], JoinedRecording)
    assert json.loads((attached_dir() / transcript.name).read_text().splitlines()[0])["session"] == transcript.stem


def test_the_clients_own_records_are_what_is_copied_for_it(home: Path, tmp_path: Path) -> None:
    transcript = plant(home, tmp_path)
    alone = load(transcript)
    chosen = choose_call(alone.session)
    expected = copy_own_transcript(alone, chosen, "claude-code")
    record(list(alone.session.calls.values())[2:], transcript.stem)
    joined = load(transcript)
    found = copy_own_transcript(joined, choose_call(joined.session), "claude-code")
    assert joined.transcript == transcript
    assert found.data.count(b"\n") == expected.data.count(b"\n") and found.lost == expected.lost
    # What only went by here is translated.
    one = choose_call(joined.session)
    assert (
        copy_own_transcript(joined, replace(one, call=replace(one.call, id="strange")), "claude-code").data
        != found.data
    )


def test_they_are_copied_for_a_client_that_keeps_no_ids_of_answers(home: Path, tmp_path: Path) -> None:
    """As OpenCode: its calls are those with the same tokens at the same time."""
    transcript = plant(home, tmp_path)
    alone = load(transcript)
    expected = copy_own_transcript(alone, choose_call(alone.session), "claude-code")
    calls = [replace(call, id=f"wire_{n}") for n, call in enumerate(alone.session.calls.values()) if call.usage]
    path = record(calls, transcript.stem, own_times=True)
    joined = load(path)
    chosen = choose_call(joined.session)
    assert joined.transcript == transcript and chosen.call.id.startswith("wire_")
    found = copy_own_transcript(joined, chosen, "claude-code")
    assert found.data.count(b"\n") == expected.data.count(b"\n") and found.lost == expected.lost
    # `curate` goes by it as `export` does.
    assert run(["curate", str(path), "--to", "claude-code", "-o", str(tmp_path / "made.jsonl")]) == 0
    assert (tmp_path / "made.jsonl").read_bytes().count(b"\n") == expected.data.count(b"\n")


def test_a_fork_counts_the_calls_that_are_shown(home: Path, tmp_path: Path) -> None:
    transcript = plant(home, tmp_path)
    calls = list(load(transcript).session.calls.values())
    path = record(calls[3:], transcript.stem)
    loaded = load(path)
    with pytest.raises(BadConfig, match="were not recorded by ctxtui exec"):
        collect_answers(loaded, "main", 3)
    assert len(collect_answers(loaded, "main", 5)) == 2
