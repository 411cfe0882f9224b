"""Windows from a model's own files."""

from __future__ import annotations

import io
import json
import struct
from pathlib import Path

import pytest

from ctxtui.core.errors import BadConfig, CtxtuiError, NotFound, Unreadable
from ctxtui.services.config.config import load
from ctxtui.services.project.model_files import gguf_window
from ctxtui.services.project.model_window import model_window


def text(words: str) -> bytes:
    return struct.pack("<Q", len(words)) + words.encode()


def gguf(length: int) -> bytes:
    """A header as llama.cpp writes it, the tokenizer's words before the length."""
    pairs = [
        text("general.architecture") + struct.pack("<I", 8) + text("qwen2"),
        text("tokenizer.ggml.tokens") + struct.pack("<IIQ", 9, 8, 2) + text("a") + text("b"),
        text("tokenizer.ggml.scores") + struct.pack("<IIQ", 9, 6, 2) + struct.pack("<ff", 0, 1),
        text("qwen2.rope.scaling.original_context_length") + struct.pack("<II", 4, 77),
        text("qwen2.context_length") + struct.pack("<II", 4, length),
    ]
    return b"GGUF" + struct.pack("<IQQ", 3, 0, len(pairs)) + b"".join(pairs)


def test_a_gguf_header() -> None:
    assert gguf_window(io.BytesIO(gguf(32_768)), "x") == 32_768


@pytest.mark.parametrize("data", [b"", b"GGUF", b"nope" * 9, gguf(1)[:60], gguf(0)])
def test_a_damaged_header_is_an_error(data: bytes) -> None:
    with pytest.raises(Unreadable):
        gguf_window(io.BytesIO(data), "x")


def test_a_model_by_its_file_and_by_its_folder(tmp_path: Path) -> None:
    path = tmp_path / "qwen2.5-coder-32b.gguf"
    path.write_bytes(gguf(16_384))
    folder = tmp_path / "homemade"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps({"text_config": {"max_position_embeddings": 8192}}))
    config = load(env={}, cwd=tmp_path, user=tmp_path / "none")
    found = model_window(str(path), config)
    assert (found.name, found.window, found.usable, found.origin) == (path.stem, 16_384, 12_288, str(path))
    found = model_window(str(folder), config)
    assert (found.name, found.window, found.origin) == ("homemade", 8192, str(folder / "config.json"))
    assert model_window("qwen2.5-coder:32b", config).origin == "model table"


def test_a_size_above_the_files_is_an_error_that_names_everything(tmp_path: Path) -> None:
    path = tmp_path / "mine.gguf"
    path.write_bytes(gguf(16_384))
    user = tmp_path / "c.toml"
    user.write_text("[models.mine]\ncontext_size = 20000\n")
    with pytest.raises(BadConfig, match="20,000 is more than the 16,384") as caught:
        model_window(str(path), load(env={}, cwd=tmp_path, user=user))
    assert str(user) in caught.value.place and "16384 or less" in caught.value.way_out


@pytest.mark.parametrize("name", ["nobody-knows-7", "no/such.gguf"])
def test_a_window_that_nobody_tells(tmp_path: Path, name: str) -> None:
    with pytest.raises((BadConfig, NotFound)) as caught:
        model_window(name, load(env={}, cwd=tmp_path, user=tmp_path / "none"))
    assert isinstance(caught.value, CtxtuiError) and name.rpartition("/")[2] in str(caught.value)
