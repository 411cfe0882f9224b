"""Windows from a model's own files."""

from __future__ import annotations

import io
import json
import struct
from pathlib import Path

import pytest

from ctxtui.core.errors import BadConfig, CtxtuiError, NotFound, Unreadable
from ctxtui.services.config.config import load
from ctxtui.services.project.model_files import file_window, gguf_window
from ctxtui.services.project.model_hub import hub_window
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


def header(*pairs: bytes) -> bytes:
    return b"GGUF" + struct.pack("<IQQ", 3, 0, len(pairs)) + b"".join(pairs)


ODD = [
    header(text("a.context_length") + struct.pack("<Ii", 5, -5)),
    header(struct.pack("<Q", 2**64 - 1)),
    header(text("a") + struct.pack("<IIQ", 9, 10, 2**64 - 1)),
    header(text("a") + struct.pack("<I", 9) + struct.pack("<IQ", 9, 1) * 20_000),
]
"""A negative window, a string and an array that are too long, arrays that are too deep."""


@pytest.mark.parametrize("data", [b"", b"GGUF", b"nope" * 9, gguf(1)[:60], gguf(0), *ODD])
def test_a_damaged_header_is_an_error(data: bytes) -> None:
    with pytest.raises(Unreadable):
        gguf_window(io.BytesIO(data), "x")


def test_a_configuration_that_is_too_deep_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("[" * 100_000)
    with pytest.raises(Unreadable):
        file_window(tmp_path)


@pytest.mark.parametrize("address", ["http://[x", "http://127.0.0.1:port", "x"])
def test_a_hub_s_address_that_cannot_be_is_an_error(address: str) -> None:
    with pytest.raises(CtxtuiError) as caught:
        hub_window("a/b", {"HF_ENDPOINT": address})
    assert address in str(caught.value)


def test_a_usable_part_that_does_not_fit_names_its_own_place(tmp_path: Path) -> None:
    user = tmp_path / "user.toml"
    user.write_text("[models.mine]\nusable_context = 9000\n")
    config = load(["windows={mine = 10000}"], env={}, cwd=tmp_path, user=user)
    model = tmp_path / "mine"
    model.mkdir()
    (model / "config.json").write_text('{"n_ctx": 20000}')
    assert model_window(str(model), config).usable == 9000
    config = load(["windows={other = 1}"], env={}, cwd=tmp_path, user=user)
    (model / "config.json").write_text('{"n_ctx": 8000}')
    with pytest.raises(BadConfig) as caught:
        model_window(str(model), config)
    assert caught.value.place == f"{user}:1"


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
    assert "models.mine.context_size = 20,000" in str(caught.value)


@pytest.mark.parametrize("name", ["nobody-knows-7", "no/such.gguf"])
def test_a_window_that_nobody_tells(tmp_path: Path, name: str) -> None:
    with pytest.raises((BadConfig, NotFound)) as caught:
        model_window(name, load(env={}, cwd=tmp_path, user=tmp_path / "none"))
    assert isinstance(caught.value, CtxtuiError) and name.rpartition("/")[2] in str(caught.value)
