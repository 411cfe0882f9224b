"""How bodies are packed, and that the file stays small."""

from __future__ import annotations

import hashlib
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
import zstandard
from hypothesis import given
from msgspec.structs import replace

from ctxtui.core import block
from ctxtui.core.block import Item, Place
from ctxtui.core.errors import Unreadable
from ctxtui.core.session import Session
from ctxtui.core.tree import ROOT, Tree
from ctxtui.store import block_codec
from ctxtui.store.block_codec import Packer, Unpacker, preview
from ctxtui.store.store import Store
from tests.corpus import ROOT as CHECKOUT
from tests.store.builders import BLOCKS, FILE, LEXICON, state, talk


def test_the_shipped_dictionary_is_the_recorded_one() -> None:
    data = block_codec.shipped_dictionary()
    assert hashlib.sha256(data).hexdigest() == block_codec.DICTIONARY_SHA256
    assert zstandard.ZstdCompressionDict(data).dict_id() == block_codec.DICTIONARY_ID


@pytest.mark.skipif(zstandard.ZSTD_VERSION != (1, 5, 7), reason="another libzstd trains another dictionary")
def test_the_script_makes_the_shipped_dictionary() -> None:
    script = CHECKOUT / "scripts" / "train_dictionary.py"
    subprocess.run([sys.executable, str(script), "--check"], check=True, capture_output=True, cwd=CHECKOUT)


def test_bodies_are_plain_text_below_200_bytes_and_packed_from_there(store: Store) -> None:
    packer, unpacker = Packer(store._conn), Unpacker(store._conn)
    for length in (1, 199, 200, 5000, 1_000_000):
        body = (" ".join(LEXICON) * 99)[:length].encode()
        codec, stored = packer.pack(body)
        assert isinstance(stored, str) == (length < block_codec.MIN_PACKED_BYTES)
        assert unpacker.unpack(codec, stored, "it") == body


def test_what_packing_does_not_shorten_stays_plain(store: Store) -> None:
    noise = bytes(hashlib.blake2b(str(n).encode(), digest_size=1).digest()[0] for n in range(3000))
    assert Packer(store._conn).pack(noise) == (block_codec.PLAIN, noise)
    words = " ".join(LEXICON[:60]).encode()
    assert isinstance(Packer(store._conn).pack(words).stored, bytes)
    assert isinstance(Packer(store._conn).pack(words, preview_bytes=len(words)).stored, str)


def test_a_file_written_with_another_dictionary_stays_readable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Store.open(tmp_path / "s.db") as store:
        store.import_session(talk(20), FILE)
    samples = [" ".join(LEXICON[n:]).encode() for n in range(900)]
    newer = zstandard.train_dictionary(1000, samples).as_bytes()
    monkeypatch.setattr(block_codec, "shipped_dictionary", lambda: newer)
    with Store.open(tmp_path / "s.db") as store:
        store.import_session(talk(20, seed=2), FILE)
        assert store.info().rows["codecs"] == 3
        assert state(store.load("session-1")) == state(talk(20))
        assert state(store.load("session-2")) == state(talk(20, seed=2))


@pytest.mark.parametrize("harm", ["body = x'00112233'", "codec = 77", "body = zeroblob(9)"])
def test_a_damaged_block_is_named_as_such(tmp_path: Path, harm: str) -> None:
    with Store.open(tmp_path / "s.db") as store:
        id_ = store.import_session(talk(20), FILE)
    with closing(sqlite3.connect(tmp_path / "s.db")) as conn:
        conn.execute(f"UPDATE blocks SET {harm} WHERE codec != 0")
        conn.commit()
    with (
        Store.open(tmp_path / "s.db") as store,
        pytest.raises(Unreadable, match=r"block [0-9a-f]{32} is damaged .* @ .*s\.db"),
    ):
        store.load(id_)


@given(BLOCKS)
def test_previews_are_one_harmless_line(made: block.Block) -> None:
    words = preview(made)
    assert len(words) <= 200
    assert words == words.strip()
    assert words.encode().decode() == words
    assert not any(c in words for c in "\x00\x1b\n\u202e\x9b")


def test_a_preview_says_what_the_block_says() -> None:
    use = block.from_part(
        {"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": "ls \x1b[31m" + "x" * 300}}
    )
    assert preview(use).startswith('Bash {"command":"ls')
    assert preview(block.text("a\n\n\tb \u202e c")) == "a b c"
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "A" * 400_000}}
    assert preview(block.from_part(image)).startswith('{"type":"image"')


def test_a_session_takes_little_room(tmp_path: Path) -> None:
    session = talk(800, words=250)
    with Store.open(tmp_path / "s.db") as store:
        blank = store.info().size
        store.import_session(session, FILE)
        packed, previews = store.info().packed, 200 * len(session.tree.blocks)
    size = (tmp_path / "s.db").stat().st_size - blank
    assert packed < 0.6 * sum(len(one.body) for one in session.tree.blocks.values())
    assert size < 1.2 * (packed + previews), "besides bodies and previews"


def test_a_client_that_rewrites_early_content_costs_one_run_per_rewrite(tmp_path: Path) -> None:
    tree, session = Tree(), talk(1)
    items = [Item(block.text(f"part {n}"), Place("messages", "user")) for n in range(200)]
    (call,) = session.calls.values()
    rewritten = Session(tree)
    for n in range(20):
        head = tree.extend(ROOT, [Item(block.text(f"it is {n} o'clock"), Place("system")), *items])
        rewritten._add_call(replace(call, id=f"c{n}", raw_head=head, sent_head=head, response_head=head))
    with Store.open(tmp_path / "s.db") as store:
        id_ = store.import_session(rewritten, FILE)
        assert (store.info().rows["runs"], store.info().rows["blocks"]) == (20, 220)
        assert state(store.load(id_)) == state(rewritten)
