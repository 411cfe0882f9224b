"""Copies without secrets and people."""

from __future__ import annotations

import base64
import json
import time
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxtui.core import block, canonical
from ctxtui.core.canonical import Json
from ctxtui.curation.mask_rules import Level
from ctxtui.curation.masking import PIXEL, Masker
from ctxtui.services.config.package_data import DATA, mask_rules
from tests.curation.secret_kinds import KINDS, SecretKind
from tests.sampling import few

SAMPLES = Path(__file__).resolve().parents[2] / "sessions"
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
    "commit 29932f3915935d773dc8d52c292cadd81c81071d",
    "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "toolu_01sxU8Z0smp6knX1pGw1KDQ9NY answers msg_01XFDUDYJgAACzvnptvVoYEL in req_011C2pT93GuRH4pQjzWwrvxa",
    "call_9nJOn3RTSdMzyQ2hbAJ1vXKL, rs_0a1b2c3d4e5f60718293a4b5c6d7e8f90a1b2c3d4e5f6071",
    "session c56a4180-65aa-42ec-a945-5fd21dec0538",
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==",
    "integrity sha512-dj9sLZ8iTBRm7Fbb1tQbpLOkD6hO1kBBUrIXUjWBzyk2x5GuqFAbHuvB0PfJ1TpLCsk2v8WnGXbT1N3CFGUO5g==",
    "max_tokens=4096, input_tokens: 12345678, cache_read_input_tokens=123456789",
    'logprobs: {"token": " the", "next_page_token": ""}',
    "password: Please enter your password",
    "def login(user, password=None, token=token): ...",
    "connect(password=settings.password)",
    "the meeting at 12:34:56, std::vector, a::b::c, fe::add",
    "version 078-05 of 415-555, order 4111 1111 1111 1112",
    "sk-learn-contrib-something-else and task-management-of-the-team",
    "settings.local.json, threading.local(), app.lan",
    "Author: unknown",
    "s.replaceAllOccurrencesWithX(y)",
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
    made = one.mask_text(f"see {secret}\nand {secret}")
    assert secret not in made and "MIIE" not in made
    assert sum(one.report.values()) == 2
    assert made.count(" 1⟩") == 2, "one secret, one mask"


FRAMES = ["{}", "see {} there", "a\n{}\nb", "`{}`", "x, {}"]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_every_kind_of_secret_and_person_goes_at_its_level(kind: SecretKind) -> None:
    for seed in range(20):
        words, gone = kind.made(seed)
        for frame in FRAMES if "\n" not in words else FRAMES[:3]:
            if "YAML" in kind.name and frame not in ("{}", "a\n{}\nb"):
                continue  # in a sentence "password: x" is no assignment
            made = masker(Level(kind.level)).mask_text(frame.replace("{}", words))
            left = [part for part in gone if any(part[i : i + 6] in made for i in range(max(1, len(part) - 5)))]
            assert not left, (seed, words, made)


@pytest.mark.parametrize("kind", [k for k in KINDS if k.level == "personal"], ids=lambda kind: kind.name)
def test_people_stay_where_only_secrets_go(kind: SecretKind) -> None:
    words, _ = kind.made(0)
    assert masker().mask_text(words) == words


LONG_KINDS = [k for k in KINDS if k.level == "secrets" and k.template.isascii() and len(k.made(1)[0]) >= 30]


@pytest.mark.parametrize("kind", LONG_KINDS, ids=lambda kind: kind.name)
def test_a_secret_in_base64_goes_too(kind: SecretKind) -> None:
    words, _ = kind.made(1)
    coded = base64.b64encode(words.encode()).decode()
    assert coded[:40] not in masker().mask_text(f"data: {coded} end")


@pytest.mark.parametrize(
    ("value", "gone"),
    [
        ({"password": "correct horse"[:7] + "horse"}, "correct"),
        ({"type": "tool_use", "id": "t", "name": "login", "input": {"apiKey": "TOOLARGx9"}}, "TOOLARG"),
        ({"headers": {"X-Api-Key": "abcdefgh"}}, "abcdefgh"),
        ({"auth": {"token": "TOOLARG_0123456789abcdef"}}, "TOOLARG"),
        ({"arguments": '{"client_secret": "TOOLARGx9"}'}, "TOOLARG"),
    ],
)
def test_a_member_that_is_called_a_secret_is_one(value: dict[str, Json], gone: str) -> None:
    assert gone not in json.dumps(masker().mask_value(value))


def test_members_that_only_describe_a_secret_stay() -> None:
    schema = {"properties": {"password": {"type": "string"}, "token": "string"}, "token": "the", "password": "string"}
    assert masker().mask_value(schema) == schema


def test_every_rule_says_who_documents_it() -> None:
    rows = tomllib.loads((DATA / "masks.toml").read_text(encoding="utf-8"))
    assert all(row["source"] for row in (*rows["keys"], *rows["mask"]))


@pytest.mark.parametrize("path", few(sorted(SAMPLES.glob("*.jsonl"))), ids=lambda path: path.stem)
def test_nothing_in_the_samples_is_taken_for_a_secret(path: Path) -> None:
    one = masker()
    for line in path.read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        one.mask_value(record.pop("body", None))  # a block is masked as one: its signature is the provider's
        one.mask_value(record)
    assert one.report == {}


@pytest.mark.parametrize(("words", "kept"), KEPT_NAMES)
def test_the_name_of_a_secret_stays(words: str, kept: str) -> None:
    made = masker().mask_text(words)
    assert made.startswith(f"{kept}⟨")


@pytest.mark.parametrize("words", HARMLESS)
def test_code_that_only_speaks_of_secrets_stays(words: str) -> None:
    assert masker(Level.PERSONAL).mask_text(words) == words


@pytest.mark.parametrize(("words", "who"), PEOPLE)
def test_people_stay_with_secrets_and_go_with_personal(words: str, who: str) -> None:
    assert masker().mask_text(words) == words
    assert who not in masker(Level.PERSONAL).mask_text(words)


def test_text_leaves_shapes_only() -> None:
    call = {
        "type": "tool_use",
        "id": "toolu_1",
        "name": "Read",
        "input": {"path": "src/größe.py", "b": ["Ada"], "n": 42},
    }
    answer = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "done"}
    one = masker(Level.TEXT)
    made, answered = one.mask_value(call), one.mask_value(answer)
    assert (made["type"], list(made)) == ("tool_use", list(call))
    assert answered["tool_use_id"] == made["id"] != "toolu_1"
    assert list(made["input"].values()) == ["xxx/xxxxx.xx", ["xxx"], 11]
    said = json.dumps([made["id"], made["name"], made["input"], answered["content"]])
    assert {letter for letter in said if letter.isalpha()} == {"x"}


@pytest.mark.parametrize("level", Level)
def test_heads_of_messages_say_the_form_of_their_blocks(level: Level) -> None:
    head = block.header("user", {"content": "list", "reasoning_content": "string", "function_call": "object"})
    assert masker(level).mask_block(head) is head


@pytest.mark.parametrize("member", ["name", "id", "detail", "kind", "status", "model", "format", "role", "type", "x"])
def test_all_that_a_tool_is_given_is_content(member: str) -> None:
    given = {member: SECRETS[2], "a": [{member: {member: "bob@example.com"}}], "/home/bob/x": 1}
    call = {"type": "tool_use", "id": "toolu_1", "name": "set", "input": given}
    function = {"type": "function", "id": "c1", "function": {"name": "set", "arguments": json.dumps(given)}}
    for value in (call, function):
        made = json.dumps(masker(Level.PERSONAL).mask_value(value))
        assert not [said for said in (SECRETS[2], "bob") if said in made]


def test_a_secret_of_three_neighbours_goes() -> None:
    parts = [SECRETS[2][:3], SECRETS[2][3:20], SECRETS[2][20:]]
    made = masker().mask_value([{"type": "text", "text": part} for part in parts])
    assert [part["text"] for part in made] == ["⟨token 1⟩"] * 3


def test_a_key_over_the_end_of_a_line_goes_though_its_rest_looks_like_a_word() -> None:
    key = "dt0c01." + "V1CG6JMZCM" * 5
    assert masker().mask_text(f"see {key}\nARBNHQTIAB4 there") == "see ⟨token 1⟩ there"
    assert masker().mask_text(f"see {SECRETS[2]}\nVersion4 of") == "see ⟨token 1⟩\nVersion4 of"


WRAPPED = {
    "jwt": "eyJhbGciOiJIUzI1NiIsInR5cCI6Ik.eyJzdWIiOiIxMjM0NTY3ODkwIiwibm.SflKxwRJSMeKKF2QT4fwpMeJf36POk",
    "vault": "s.aB3dE5gH7jK9mN1pQ3sT5vW7",
    "discord": "MTIzNDU2Nzg5MDEyMzQ1Njc4.aB3xYz.aB3dE5gH7jK9mN1pQ3sT5vW7yZ1aB3dE5gH7jK",
    "telegram": "123456789:aB3dE5gH7jK9mN1pQ3sT5vW7yZ1aB3dE5gH",
    "entra": "aB38Q~aB3dE5gH7jK9mN1pQ3sT5vW7yZ1aB3dE5g",
    "github": "ghp_aB3dE5gH7jK9mN1pQ3sT5vW7yZ1aB3dE5gH7",
}


@pytest.mark.parametrize("lead", ["my token\n", "my token:\n"])
@pytest.mark.parametrize("kind", WRAPPED)
def test_a_key_of_several_lines_between_other_lines_goes(kind: str, lead: str) -> None:
    key, half = WRAPPED[kind], len(WRAPPED[kind]) * 2 // 3
    # Where a token that may be longer ends, the next line would go on with it.
    rest = "" if kind == "discord" else "\nend."
    masked = masker().mask_text(f"{lead}{key[:half]}\n{key[half:]}{rest}")
    assert masked.startswith(f"{lead}⟨") and masked.endswith(f" 1⟩{rest}")


@pytest.mark.parametrize("named", ['see password = "', "DB_PASSWORD=", "passwd='"])
def test_a_password_that_begins_where_its_name_ends_a_text_goes(named: str) -> None:
    closed = f"correcthorsebattery{named[-1]} there" if named[-1] != "=" else "correcthorsebattery"
    made = masker().mask_value([{"type": "text", "text": text} for text in (named, closed)])
    assert "horse" not in json.dumps(made)


@pytest.mark.parametrize("at", range(len("https://hooks.slack.com/"), 70))
def test_a_webhook_that_two_texts_share_goes_wherever_it_is_cut(at: int) -> None:
    address = "https://hooks.slack.com/services/T0a1B2c3D/B4e5F6g7H/i8J9k0L1m2N3o4P5q6R7s8T9"
    made = json.dumps(masker().mask_value([{"type": "text", "text": text} for text in (address[:at], address[at:])]))
    assert "s8T9" not in made and "6g7H" not in made


def test_neighbours_that_only_seem_to_say_a_secret_stay() -> None:
    said = ["secret: string", "/Users/a1b2c3d4/projects/src/handlers", "the token:", "message-handler is a module"]
    value = [{"type": "text", "text": text} for text in said]
    assert masker().mask_value(value) == value


def test_an_id_of_the_record_stays_where_it_is_mentioned() -> None:
    id_ = "aB3dE5gH7jK9mN1pQ3sT5vW7yZ"
    call = {"type": "tool_use", "id": id_, "name": "Read", "input": {}}
    assert masker().mask_text(id_) != id_
    assert masker().mask_value([call, {"type": "text", "text": f"see {id_}"}])[1]["text"] == f"see {id_}"


def test_arguments_spelled_as_text_stay_json() -> None:
    call = {"type": "function_call", "call_id": "c1", "arguments": json.dumps({"key": SECRETS[0], "n": 1})}
    made = masker().mask_value(call)
    assert json.loads(made["arguments"]) == {"key": "⟨api key 1⟩", "n": 1}


def test_images_and_what_nobody_can_read_go_with_personal() -> None:
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/jpeg", "data": "/9j/4AAQ"}}
    thought = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
    one = masker(Level.PERSONAL)
    assert one.mask_value(image)["source"]["data"] == PIXEL
    assert one.mask_value(thought) == {**thought, "signature": "⟨opaque⟩"}
    assert one.report == {"image or file": 1, "opaque part": 1}
    assert masker().mask_value(image) == image


def test_a_block_without_findings_is_the_same_block() -> None:
    plain = block.text("nothing to hide")
    assert masker(Level.PERSONAL).mask_block(plain) is plain
    masked = masker().mask_block(block.text(SECRETS[0]))
    assert masked.value() == {"type": "text", "text": "⟨api key 1⟩"}


@pytest.mark.parametrize("level", Level)
def test_a_call_that_is_nested_deeply_is_masked(level: Level) -> None:
    text = '{"a":' * 600 + json.dumps(SECRETS[0]) + "}" * 600
    one = masker(level)
    for member, given_value in (("input", canonical.loads(text)), ("arguments", text)):
        call = block.make("tool_use", {"type": "tool_use", "id": "t", "name": "f", member: given_value})
        one.follow((), call)
        masked = one.mask_block(call)
        assert SECRETS[0].encode() not in masked.body and masked.value()["type"] == "tool_use"
        assert SECRETS[0] not in str(masker(level).mask_value(call.value()))
    plain = block.make("tool_use", {"input": canonical.loads('{"a":' * 600 + "1" + "}" * 600)})
    assert level == Level.TEXT or one.mask_block(plain) is plain


@given(st.text(max_size=300))
def test_masking_twice_masks_nothing_new(words: str) -> None:
    once = masker(Level.PERSONAL).mask_text(words)
    assert masker(Level.PERSONAL).mask_text(once) == once


@pytest.mark.parametrize(
    "hostile", few(["a" * 1_000_000, "/home/" * 100_000, "sk-" * 300_000, "@a." * 300_000, "=" * 10**6])
)
def test_hostile_texts_take_no_time(hostile: str) -> None:
    before = time.process_time()
    masker(Level.PERSONAL).mask_text(hostile)
    assert time.process_time() - before < 5


def test_a_word_after_a_text_that_ends_with_a_whole_key_stays_elsewhere() -> None:
    masker = Masker(mask_rules(), Level.SECRETS)
    tail = masker.follow((), block.text(f"my key is {SECRETS[0]}"))
    masker.follow(tail, block.text("Please look."))
    assert masker.mask_text("Please go on") == "Please go on"


def test_a_key_whose_first_piece_looks_like_a_plain_number() -> None:
    masker, tail, texts = (
        Masker(mask_rules(), Level.SECRETS),
        (),
        ("see fc-389f1123", "8e0", "f63a572d355b3b76bca4f there"),
    )
    for text in texts:
        tail = masker.follow(tail, block.text(text))
    for shown in (texts, ["\n".join(texts)]):
        assert not any("389f" in masked or "f63a" in masked for masked in map(masker.mask_text, shown))
