"""The id of a recording in the database is the one that its import gives it, before and after."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from ctxtui.core.call import Call
from ctxtui.core.edit import make
from ctxtui.core.usage import Usage
from ctxtui.curation.context import Context
from ctxtui.services.chat.continue_from import find_continuation
from ctxtui.services.config.paths import database
from ctxtui.services.config.settings import Settings
from ctxtui.services.editing.overlay import SessionEdits
from ctxtui.services.recordings.identity import source_info, stored_id
from ctxtui.services.recordings.open import load, load_stream
from ctxtui.services.recordings.open_by_name import locate, open_named
from ctxtui.services.recordings.recording import Loaded
from ctxtui.services.study.fork_tree import list_forks
from ctxtui.store.store import Store
from tests.services.library.test_own_transcripts import home, record
from tests.services.lookalike import ClaudeCode, lines

__all__ = ["home"]


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(data_dir=tmp_path / "data")


@pytest.fixture
def namesakes(tmp_path: Path) -> tuple[Path, Path]:
    """Two recordings with one session id and different calls."""
    first, second = ClaudeCode(), ClaudeCode()
    second.calls = second.at = 100
    paths = []
    for name, client in (("one", first), ("two", second)):
        folder = tmp_path / name
        folder.mkdir()
        paths.append(folder / f"{first.session}.jsonl")
        paths[-1].write_bytes(lines(client.turns(2)))
    return paths[0], paths[1]


def stage_drop(loaded: Loaded, settings: Settings) -> SessionEdits:
    edits = SessionEdits(loaded, settings)
    call = next(iter(loaded.session.calls.values()))
    context = Context.of_call(loaded.session.tree, call, call.sent_head)
    edits.of_thread("main").stage_all([make("drop", context.targets([len(context) - 1]))])
    return edits


def test_namesakes_have_ids_and_edits_of_their_own(namesakes: tuple[Path, Path], settings: Settings) -> None:
    first, second = map(load, namesakes)
    stage_drop(first, settings).save()
    assert not SessionEdits(second, settings).of_thread("main").log, "the edits are those of the other session"
    stage_drop(second, settings).save()
    with Store.open(database(settings.data_dir), readonly=True) as store:
        ids = [stored_id(loaded, store) for loaded in (first, second)]
        assert len(set(ids)) == 2
        assert [len(store.edits(id_)) for id_ in ids] == [1, 1]
    for loaded, id_ in zip((first, second), ids, strict=True):
        assert len(SessionEdits(loaded, settings).of_thread("main").log) == 1
        origin = find_continuation(str(loaded.path), "", 1, settings, Path.cwd()).origin
        assert origin is not None and origin.session == id_
        stored = open_named(locate(id_, Path.cwd(), settings), settings)
        assert stored_id(stored, None) == id_
        assert [row.is_open for row in list_forks(loaded, "main", settings)] == [True]


def test_the_id_is_the_same_without_a_database_and_opened_from_one(
    namesakes: tuple[Path, Path], settings: Settings
) -> None:
    loaded = load(namesakes[0])
    origin = find_continuation(str(loaded.path), "", 1, settings, Path.cwd()).origin
    assert origin is not None and [row.is_open for row in list_forks(loaded, "main", settings)] == [True]
    assert not database(settings.data_dir).exists()
    stage_drop(loaded, settings).save()
    stored = open_named(locate(origin.session, Path.cwd(), settings), settings)
    with Store.open(database(settings.data_dir), readonly=True) as store:
        assert stored_id(loaded, store) == stored_id(stored, store) == origin.session == stored_id(loaded, None)


def test_the_id_of_a_stream_is_that_of_its_import(settings: Settings) -> None:
    loaded = load_stream(io.BytesIO(lines(ClaudeCode().turns(1))))
    with Store.open(database(settings.data_dir)) as store:
        before = stored_id(loaded, store)
        assert store.import_session(loaded.session, source_info(loaded)) == before == stored_id(loaded, store)
    assert stage_drop(loaded, settings).save() is None
    assert len(SessionEdits(loaded, settings).of_thread("main").log) == 1


def test_a_recording_whose_file_is_gone_keeps_its_id(namesakes: tuple[Path, Path], settings: Settings) -> None:
    loaded = load(namesakes[0])
    stage_drop(loaded, settings).save()
    namesakes[0].unlink()
    edits = SessionEdits(loaded, settings)
    assert len(edits.of_thread("main").log) == 1
    edits.of_thread("main").apply()
    edits.save()
    assert len(SessionEdits(loaded, settings).of_thread("main").applied) == 1


def test_edits_of_a_recording_have_the_id_by_which_its_relay_reads_them(home: Path, tmp_path: Path) -> None:
    """Also if the client's transcript, with other calls, was stored before."""
    settings, client = Settings(data_dir=tmp_path / "data"), ClaudeCode(cwd=str(tmp_path))
    transcript = home / ".claude" / "projects" / "-w" / f"{client.session}.jsonl"
    transcript.parent.mkdir(parents=True)
    transcript.write_bytes(lines(client.turns(2)))
    stage_drop(load(transcript), settings).save()
    other = Call("msg_other", "main", provider="anthropic", model=client.model, usage=Usage(fresh=9, output=1))
    recording = record([other], client.session)
    wire = load(recording, own="")
    edits = SessionEdits(wire, settings)
    assert len(edits.of_thread("main").log) == 1
    edits.of_thread("main").apply()
    edits.save()
    with Store.open(database(settings.data_dir), readonly=True) as store:
        assert len(store.edits(client.session)) == 2
    assert len(SessionEdits(load(recording), settings).of_thread("main").applied) == 1
