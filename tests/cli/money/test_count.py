"""`ctxtui count`."""

from __future__ import annotations

import io
import struct
import zlib
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.cli.conftest import Run

WORDS = "A context is a path in a tree of content-addressed blocks.\n"


def png(width: int, height: int) -> bytes:
    """A picture without pixels: what tells its size is there."""
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + b"IHDR" + head + struct.pack(">I", zlib.crc32(b"IHDR" + head))


def test_files_add_up_and_say_how_they_were_counted(ctxtui: Run, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(WORDS * 20)
    (tmp_path / "b.png").write_bytes(png(1000, 1000))
    (tmp_path / "c.bin").write_bytes(b"\0\1\2")
    names = [tmp_path / name for name in ("a.txt", "b.png", "c.bin")]
    told = ctxtui("count", *names, "--model", "claude-opus-4-5", "--json").json
    text, image, other = told["files"]
    assert told["tokens"] == text["tokens"] + image["tokens"]
    assert text["interval"][0] < text["tokens"] < text["interval"][1]
    assert image["tokens"] == 1296 and image["pixels"] == [1000, 1000], "facts §3"
    assert (other["kind"], other["tokens"], other["method"]) == ("binary", 0, "not read")
    assert told["cost_usd"] == pytest.approx(told["tokens"] * 5e-6)
    assert told["interval"][0] <= told["tokens"] <= told["interval"][1]


def test_the_models_own_tokenizer_is_exact(ctxtui: Run, tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("hello world")
    told = ctxtui("count", path, "--model", "gpt-4o", "--json").json
    assert told["files"][0]["method"] == "exact"
    assert told["tokens"] == 2 and told["interval"] == [2, 2]


def test_standard_input(ctxtui: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(b"hello world")))
    ran = ctxtui("count", "-", "--model", "claude-opus-4-5")
    assert ran.code == 0 and "read once by claude-opus-4-5" in ran.out and "% of 150.0k usable" in ran.out


def test_what_cannot_be_read_is_said_and_the_rest_counted(ctxtui: Run, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(WORDS)
    ran = ctxtui("count", tmp_path / "nope", tmp_path / "a.txt", "--model", "homemade-7")
    assert ran.code == 5 and "no such file" in ran.err and "a.txt" in ran.out and "unknown" in ran.out
    ran = ctxtui("count", tmp_path / "nope", "--json")
    assert ran.code == 5 and ran.json["error"]["place"] == str(tmp_path / "nope")
    assert ctxtui("count", tmp_path).code == 2, "a folder is for `budget`"
