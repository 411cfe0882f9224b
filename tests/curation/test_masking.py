"""Copies without secrets and people."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxtui.core import block
from ctxtui.curation.masking import PIXEL, Level, Masker
from ctxtui.services.config.package_data import mask_rules

SECRETS = [
    "sk-ant-api03-" + "a1B2" * 12,
    "sk-proj-" + "x9" * 20,
    "ghp_" + "a1B2c3" * 6,
    "github_pat_11ABCDEFG0" + "a" * 20,
    "AKIA" + "ABCDEFGHIJKLMNOP",
    "xoxb-1234567890-abcdef",
    "AIza" + "Sy" * 18,
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N",
    "-----BEGIN RSA PRIVATE KEY-----\nMIIE\nabc\n-----END RSA PRIVATE KEY-----",
]
KEPT_NAMES = [
    ("Authorization: Bearer abcdefgh12345678", "Authorization: Bearer "),
    ("postgres://ada:pa55word@db.local/shop", "postgres://"),
    ("DB_PASSWORD=hunter2hunter2", "DB_PASSWORD="),
    ('"api_key": "q1w2e3r4t5y6"', '"api_key": "'),
    ("Cookie: session=abcdef123456; theme=dark", "Cookie: "),
]
HARMLESS = [
    "password: string",
    "api_key = os.environ['API_KEY']",
    "const token = getToken()",
    "the secret of good tests",
    "secretKey: process.env.SECRET_KEY_1",
    "version 1.2.3.4.5 of 127.0.0.1",
    "the year 2026-11-21 and 1,234,567 tokens",
    "commit 5fa72051aa0c9b8f",
]
PEOPLE = [
    ("write to ada@shop.org", "ada@shop.org"),
    ("/home/ada/shop/a.py", "ada"),
    ("/Users/grace.h/x", "grace.h"),
    ("C:\\Users\\Grace\\x", "Grace"),
    ("from 203.0.113.9 on", "203.0.113.9"),
    ("call +49 30 1234 5678", "1234"),
]


def masker(level: Level = Level.SECRETS) -> Masker:
    return Masker(mask_rules(), level)


@pytest.mark.parametrize("secret", SECRETS)
def test_secrets_go_wherever_they_stand(secret: str) -> None:
    one = masker()
    made = one.text(f"see {secret}\nand {secret}")
    assert secret not in made and "MIIE" not in made
    assert sum(one.report.values()) == 2
    assert made.count(" 1⟩") == 2, "one secret, one mask"


@pytest.mark.parametrize(("words", "kept"), KEPT_NAMES)
def test_the_name_of_a_secret_stays(words: str, kept: str) -> None:
    made = masker().text(words)
    assert made.startswith(f"{kept}⟨")


@pytest.mark.parametrize("words", HARMLESS)
def test_code_that_only_speaks_of_secrets_stays(words: str) -> None:
    assert masker(Level.PERSONAL).text(words) == words


@pytest.mark.parametrize(("words", "who"), PEOPLE)
def test_people_stay_with_secrets_and_go_with_personal(words: str, who: str) -> None:
    assert masker().text(words) == words
    assert who not in masker(Level.PERSONAL).text(words)


def test_text_leaves_shapes_only() -> None:
    value = {"type": "tool_use", "id": "toolu_1", "name": "Read", "input": {"path": "src/größe.py", "n": 12}}
    made = masker(Level.TEXT).value(value)
    assert made == {"type": "tool_use", "id": "toolu_1", "name": "Read", "input": {"path": "xxx/xxxxx.xx", "n": 12}}


def test_arguments_spelled_as_text_stay_json() -> None:
    call = {"type": "function_call", "call_id": "c1", "arguments": json.dumps({"key": SECRETS[0], "n": 1})}
    made = masker().value(call)
    assert json.loads(made["arguments"]) == {"key": "⟨api key 1⟩", "n": 1}


def test_images_and_what_nobody_can_read_go_with_personal() -> None:
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/jpeg", "data": "/9j/4AAQ"}}
    thought = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
    one = masker(Level.PERSONAL)
    assert one.value(image)["source"]["data"] == PIXEL
    assert one.value(thought) == {**thought, "signature": "⟨opaque⟩"}
    assert one.report == {"image or file": 1, "opaque part": 1}
    assert masker().value(image) == image


def test_a_block_without_findings_is_the_same_block() -> None:
    plain = block.text("nothing to hide")
    assert masker(Level.PERSONAL).block(plain) is plain
    masked = masker().block(block.text(SECRETS[0]))
    assert masked.value() == {"type": "text", "text": "⟨api key 1⟩"}


@given(st.text(max_size=300))
def test_masking_twice_masks_nothing_new(words: str) -> None:
    once = masker(Level.PERSONAL).text(words)
    assert masker(Level.PERSONAL).text(once) == once


@pytest.mark.parametrize(
    "hostile", ["a" * 1_000_000, "/home/" * 100_000, "sk-" * 300_000, "@a." * 300_000, "=" * 10**6]
)
def test_hostile_texts_take_no_time(hostile: str) -> None:
    before = time.process_time()
    masker(Level.PERSONAL).text(hostile)
    assert time.process_time() - before < 5
