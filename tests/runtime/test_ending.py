"""The end of a long recording stands on the screen before its beginning is read."""

from pathlib import Path

from ctxtui.core.reading import read
from ctxtui.runtime.ending import LONG, ending
from tests.cases.claude_code import generate


def test_the_end_of_a_long_recording_holds_its_last_words(tmp_path: Path) -> None:
    path = tmp_path / "long.jsonl"
    path.write_bytes(generate(n_messages=1200, bytes_per_message=3000, seed=5))
    assert path.stat().st_size > LONG
    whole = tmp_path / "whole.jsonl"
    whole.write_bytes(path.read_bytes())
    session = ending(path)
    assert session is not None
    last = session.thread_calls("main")[-1]
    text = read(session.tree[last.response_head].block).text or read(session.tree[last.response_head].block).arguments
    assert text and text.encode()[:40] in path.read_bytes()[-20_000:].replace(b'\\"', b'"')


def test_short_ones_and_other_files_have_no_end_of_their_own(tmp_path: Path) -> None:
    short = tmp_path / "short.jsonl"
    short.write_bytes(generate(n_messages=10))
    noise = tmp_path / "noise.bin"
    noise.write_bytes(bytes(range(256)) * 20_000)
    assert ending(short) is None and ending(noise) is None and ending(tmp_path / "absent") is None
