"""The end of a long recording stands on the screen before its beginning is read."""

from pathlib import Path

from benchmarks.sessions import MARK, session
from ctxtui.core.block_content import read
from ctxtui.services.recordings.tail_preview import LONG_BYTES, read_end
from tests.cases.claude_code import generate


def test_the_end_of_a_long_recording_holds_its_last_words(tmp_path: Path) -> None:
    path = session(tmp_path, 1200, 4_000_000)
    assert path.stat().st_size > LONG_BYTES
    found = read_end(path)
    assert found is not None
    last = found.thread_calls("main")[-1]
    assert read(found.tree[last.response_head].block).text == MARK


def test_short_ones_and_other_files_have_no_end_of_their_own(tmp_path: Path) -> None:
    short = tmp_path / "short.jsonl"
    short.write_bytes(generate(n_messages=10))
    noise = tmp_path / "noise.bin"
    noise.write_bytes(bytes(range(256)) * 20_000)
    assert read_end(short) is None and read_end(noise) is None and read_end(tmp_path / "absent") is None
