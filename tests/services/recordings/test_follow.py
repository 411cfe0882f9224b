from __future__ import annotations

import queue
import threading
import time
from pathlib import Path

import pytest

from ctxtui.services.recordings.follow import (
    ACTIVE_SECONDS,
    BUSY_SECONDS,
    IDLE_SECONDS,
    FollowedNews,
    Follower,
    run_follower,
)
from ctxtui.services.recordings.open import load, load_stream
from tests.services.plain_format import said
from tests.services.recordings.test_first_reading import append, words

pytestmark = pytest.mark.usefixtures("plain")


def recording(folder: Path, name: str = "a") -> Path:
    path = folder / f"{name}.jsonl"
    path.write_bytes(said("one"))
    return path


def test_what_is_new_is_heard_and_taken_where_it_is_shown(tmp_path: Path) -> None:
    path = recording(tmp_path)
    loaded = load(path)
    follower = Follower()
    follower.watch(loaded)
    append(path, said("two"))
    (heard,) = follower.poll()
    assert words(loaded.session) == ["one"], "nothing changes before it is taken"
    loaded.add_news(heard.news)
    assert words(loaded.session) == ["one", "two"]


def test_a_resting_recording_is_looked_at_less_often(tmp_path: Path) -> None:
    now = 100.0
    follower = Follower(lambda: now)
    path = recording(tmp_path)
    loaded = load(path)
    follower.watch(loaded)
    follower.poll()
    assert follower.pause() == pytest.approx(ACTIVE_SECONDS)
    now += 10
    follower.poll()
    assert follower.pause() == pytest.approx(IDLE_SECONDS)
    append(path, said("two"))
    now += 1
    assert len(follower.poll()) == 1
    assert follower.pause() == pytest.approx(ACTIVE_SECONDS)


def test_a_recording_that_grows_many_times_a_second_is_looked_at_as_often(tmp_path: Path) -> None:
    now = 100.0
    follower = Follower(lambda: now)
    path = recording(tmp_path)
    loaded = load(path)
    follower.watch(loaded)
    for word, since in (("two", 1.0), ("three", ACTIVE_SECONDS), ("four", 1 / 30), ("five", 1 / 30)):
        append(path, said(word))
        now += since
        (heard,) = follower.poll()
        loaded.add_news(heard.news)
        assert follower.pause() == pytest.approx(ACTIVE_SECONDS if word == "two" else BUSY_SECONDS)
    assert BUSY_SECONDS < 1 / 30, "each of thirty a second is heard alone"
    now += 0.25
    assert follower.poll() == [] and follower.pause() == pytest.approx(ACTIVE_SECONDS)


def test_a_stream_has_nothing_to_follow(tmp_path: Path) -> None:
    import io

    follower = Follower()
    follower.watch(load_stream(io.BytesIO(said("one"))))
    assert follower.poll() == []


def test_every_write_is_heard_while_it_is_followed(tmp_path: Path) -> None:
    path = recording(tmp_path)
    loaded = load(path)
    follower = Follower()
    follower.watch(loaded)
    heard: queue.Queue[str] = queue.Queue()
    stop = threading.Event()

    def tell(one: FollowedNews) -> None:
        loaded.add_news(one.news)
        heard.put(words(loaded.session)[-1])

    worker = threading.Thread(target=run_follower, args=(follower, tell, stop))
    worker.start()
    try:
        for number in range(8):
            append(path, said(f"word {number}"))
            assert heard.get(timeout=20) == f"word {number}"
    finally:
        stop.set()
        worker.join()


def test_five_resting_recordings_take_next_to_no_time(tmp_path: Path) -> None:
    follower = Follower()
    for name in "abcde":
        follower.watch(load(recording(tmp_path, name)))
    follower.poll()
    stop = threading.Event()
    worker = threading.Thread(target=run_follower, args=(follower, lambda heard: None, stop))
    before = time.process_time()
    worker.start()
    time.sleep(2.0)
    stop.set()
    worker.join()
    share = (time.process_time() - before) / 2.0
    assert share < 0.02, f"{share:.2%} of a processor"  # the goal is 0.5 %; a busy machine blurs it
