"""Random records with a random secret at a random place, of any dialect: what the law of masks is tried with."""

from __future__ import annotations

import base64
import json
import random
import string
import struct
import zlib
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from ctxtui.curation.mask_rules import MaskingRules
from tests.curation.secret_kinds import KINDS, SecretKind

_WORDS: Final = "look at this and say what went wrong in build of shop then mend it please tests run twice".split()
_KEYS: Final = "name id detail kind status model format role type value path data note env items args a b text".split()
_FRAMES: Final = ("{}", "see {} there", "a\n{}\nb", "`{}`", "x, {}")
_OWN_LINE: Final = ("YAML", "kubeconfig")
_CHARS: Final = (
    ("A-Za-z0-9", string.ascii_letters + string.digits, "aB4"),
    ("A-Z0-9", string.ascii_uppercase + string.digits, "AB4"),
)


class MaskCase(NamedTuple):
    """A record: its bytes and file name; `gone` must not survive at `level`. `told` says what it is.

    `about` are members of the session that say it (``title``, ``cwd``), or the name of its file (``name``).
    """

    data: bytes
    name: str
    gone: list[str]
    level: str
    told: str
    about: dict[str, str]


def rule_kinds(rules: MaskingRules) -> list[SecretKind]:
    """A kind for each beginning of a key in the rule file."""
    found = []
    for rule in rules.rules:
        if not rule.is_key:
            continue
        chars = rule.pattern.pattern.rpartition("[")[2].partition("]")[0]
        least = int(rule.pattern.pattern.rpartition("{")[2].partition(",")[0])
        blank = "" if "A-Za-z" in chars else ":U" if "A-Z" in chars else ":x"
        found += [SecretKind(f"key {start}", "secrets", f"{start}{{{max(least, 12)}{blank}}}") for start in rule.holds]
    return found


def make_case(seed: int, rules: MaskingRules) -> MaskCase:
    """The case of `seed`."""
    dice = random.Random(seed)
    kinds = [*KINDS, *rule_kinds(rules)]
    kind = kinds[seed % len(kinds)]
    words, gone = kind.made(seed)
    own_line = "\n" in words or any(mark in kind.name for mark in _OWN_LINE)
    form = dice.choice(sorted(FORMS))
    ways = ["whole", "whole", "blocks"] + ([] if own_line else ["colours"])
    if kind.level == "secrets" and words.isascii() and len(words) >= 30:
        ways += ["base64", "image"] + (
            [] if own_line else ["lines"] if words == gone[0] or kind.name.startswith("key") else []
        )
    way = dice.choice(ways)
    slot = dice.choice(SLOTS)
    frame = dice.choice(_FRAMES[2:3] if own_line else _FRAMES)
    parts = [frame.replace("{}", words)]
    if form == "gemini cli" and slot in ("schema", "member"):
        slot = "answer"
    # Neither client records its tools.
    if (form in LINES and slot == "schema") or (form == "codex" and slot in ("system", "description")):
        slot = "answer"
    if way == "blocks":
        # Gemini CLI shows the last answer of a call only.
        slot = "user" if form == "gemini cli" else dice.choice(("user", "result"))
        begin = parts[0].index(words)
        cuts = sorted(dice.sample(range(begin + 1, begin + len(words)), min(dice.choice((1, 2)), len(words) - 1)))
        parts = [parts[0][a:b] for a, b in zip([0, *cuts], [*cuts, len(parts[0])], strict=True)]
    elif way == "colours":
        at = dice.randrange(1, len(words))
        parts = [frame.replace("{}", f"{words[:at]}\x1b[01;31m{words[at:]}\x1b[m\x1b[K")]
    elif way == "lines":
        at = dice.randrange(len(words) - len(gone[-1]) + 6, len(words) - 6)
        parts = [f"see {words[:at]}\n{words[at:]} there"]
    elif way == "base64":
        coded = base64.b64encode(words.encode()).decode()
        parts, gone = [f"data {coded} end"], [coded]
    elif way == "image":
        slot, coded = "image", base64.b64encode(png(words)).decode()
        parts, gone = [coded], [base64.b64encode(words.encode()).decode()[4:-8]]
        form = dice.choice(("anthropic", "claude code"))
    about = {slot: parts[0]} if slot in ABOUT else {}
    record = FORMS[form](dice, "answer" if about else slot, ["done"] if about else parts)
    name, told = f"x.{'jsonl' if form in LINES else 'json'}", f"{kind.name}, {form}, {slot}, {way}"
    return MaskCase(record, name, gone, kind.level, told, about)


def png(words: str) -> bytes:
    """A PNG that says `words` in its metadata."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 6, 0, 0, 0))
    told = chunk(b"tEXt", b"Comment\0" + words.encode()) + chunk(b"zTXt", b"More\0\0" + zlib.compress(words.encode()))
    return b"\x89PNG\r\n\x1a\n" + head + told + chunk(b"IDAT", zlib.compress(b"\0" * 5)) + chunk(b"IEND", b"")


def _prose(dice: random.Random) -> str:
    return " ".join(dice.choices(_WORDS, k=dice.randrange(3, 12)))


def _tree(dice: random.Random, leaf: str, depth: int = 0) -> Any:
    """A random JSON object that says `leaf` once, as a value or as a key."""
    names = dice.sample(_KEYS, k=dice.randrange(1, 5))
    made: dict[str, Any] = {
        name: dice.choice((_prose(dice), dice.randrange(1000), None, True, [_prose(dice)])) for name in names
    }
    if depth < 3 and dice.random() < 0.5:
        inner = _tree(dice, leaf, depth + 1)
        made[dice.choice(names)] = (
            inner if dice.random() < 0.6 else [inner] if dice.random() < 0.5 else json.dumps(inner)
        )
    elif dice.random() < 0.2:
        made[leaf] = _prose(dice)
    else:
        made[dice.choice(names)] = int(leaf) if leaf.isdecimal() and dice.random() < 0.5 else leaf
    return made


class _Said(NamedTuple):
    user: list[str]
    system: str
    input: dict[str, Any]
    result: list[str]
    thinking: str
    description: str
    answer: str
    image: str
    schema: str
    member: Any


def _said(dice: random.Random, slot: str, parts: list[str]) -> _Said:
    made = {
        "user": [_prose(dice)],
        "system": _prose(dice),
        "input": {"path": "src/a.py", "lines": 20},
        "result": [_prose(dice)],
        "thinking": _prose(dice),
        "description": _prose(dice),
        "answer": _prose(dice),
        "image": "",
        "schema": "",
        "member": None,
    }
    made[slot] = (
        parts if slot in ("user", "result") else _tree(dice, parts[0]) if slot in ("input", "member") else parts[0]
    )
    return _Said(**made)  # type: ignore[arg-type]


def _schema(dice: random.Random, leaf: str) -> dict[str, Any]:
    properties: dict[str, Any] = {name: {"type": "string"} for name in dice.sample(_KEYS, k=3)}
    if leaf:
        last = properties[list(properties)[-1]]
        member = dice.choice(("default", "const", "description", "enum", "name", "title", "format"))
        if member == "name":
            properties[leaf] = {"type": "string"}
        else:
            last[member] = [leaf] if member == "enum" else leaf
    return {"type": "object", "properties": properties, "required": [leaf] if leaf in properties else []}


def _texts(parts: list[str], kind: str = "text", member: Any = None) -> list[dict[str, Any]]:
    made: list[dict[str, Any]] = [{"type": kind, "text": part} for part in parts]
    if member is not None:
        made[-1]["about"] = member
    return made


def _image(said: _Said) -> list[dict[str, Any]]:
    source = {"type": "base64", "media_type": "image/png", "data": said.image}
    return [{"type": "image", "source": source}] if said.image else []


def _anthropic(dice: random.Random, slot: str, parts: list[str]) -> bytes:
    said = _said(dice, slot, parts)
    messages = [
        {"role": "user", "content": [*_texts(said.user, "text", said.member), *_image(said)]},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": said.thinking, "signature": "c2lnbmF0dXJl"},
                {"type": "tool_use", "id": "toolu_01", "name": "Read", "input": said.input},
            ],
        },
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "toolu_01", "content": _texts(said.result)}],
        },
        {"role": "assistant", "content": [{"type": "text", "text": said.answer}]},
        {"role": "user", "content": "go on"},
    ]
    tools = [{"name": "Read", "description": said.description, "input_schema": _schema(dice, said.schema)}]
    return _dump(
        {"model": "claude-opus-4-6", "max_tokens": 100, "system": said.system, "tools": tools, "messages": messages}
    )


def _chat(dice: random.Random, slot: str, parts: list[str]) -> bytes:
    said = _said(dice, slot, parts)
    call = {"id": "call_1", "type": "function", "function": {"name": "read", "arguments": json.dumps(said.input)}}
    messages = [
        {"role": "system", "content": said.system},
        {"role": "user", "content": _texts(said.user, "text", said.member)},
        {"role": "assistant", "content": None, "reasoning_content": said.thinking, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "call_1", "content": _texts(said.result)},
        {"role": "assistant", "content": said.answer},
        {"role": "user", "content": "go on"},
    ]
    function = {"name": "read", "description": said.description, "parameters": _schema(dice, said.schema)}
    return _dump({"model": "gpt-5", "messages": messages, "tools": [{"type": "function", "function": function}]})


def _items(said: _Said) -> list[dict[str, Any]]:
    return [
        {"type": "message", "role": "user", "content": _texts(said.user, "input_text", said.member)},
        {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": said.thinking}]},
        {"type": "function_call", "call_id": "call_1", "name": "read", "arguments": json.dumps(said.input)},
        {"type": "function_call_output", "call_id": "call_1", "output": _texts(said.result, "input_text")},
        {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "output_text", "text": said.answer, "annotations": []}],
        },
    ]


def _responses(dice: random.Random, slot: str, parts: list[str]) -> bytes:
    said = _said(dice, slot, parts)
    tool = {
        "type": "function",
        "name": "read",
        "description": said.description,
        "parameters": _schema(dice, said.schema),
    }
    return _dump({"model": "gpt-5", "instructions": said.system, "tools": [tool], "input": _items(said)})


def _codex(dice: random.Random, slot: str, parts: list[str]) -> bytes:
    said = _said(dice, slot, parts)
    about = {
        "id": "0199aaaa-0000-7000-8000-000000000001",
        "cwd": "/srv",
        "cli_version": "0.99.0",
        "instructions": said.system,
    }
    rows = [("session_meta", about), *(("response_item", item) for item in _items(said))]
    usage = {"input_tokens": 900, "cached_input_tokens": 0, "output_tokens": 20, "total_tokens": 920}
    info = {"total_token_usage": usage, "last_token_usage": usage, "model_context_window": 200000}
    rows.append(("event_msg", {"type": "token_count", "info": info}))
    at = "2026-01-02T03:04:05.000Z"
    return b"".join(_dump({"timestamp": at, "type": kind, "payload": item}) + b"\n" for kind, item in rows)


def _claude_code(dice: random.Random, slot: str, parts: list[str]) -> bytes:
    said = _said(dice, slot, parts)
    usage = {"input_tokens": 900, "output_tokens": 20, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0}

    def answer(id_: str, content: list[dict[str, Any]]) -> dict[str, Any]:
        return {
            "id": id_,
            "role": "assistant",
            "model": "claude-opus-4-6",
            "type": "message",
            "usage": usage,
            "content": content,
        }

    messages = [
        {"role": "user", "content": [*_texts([said.system]), *_texts(said.user, "text", said.member), *_image(said)]},
        answer(
            "msg_1",
            [
                {"type": "thinking", "thinking": said.thinking, "signature": "c2lnbmF0dXJl"},
                {"type": "tool_use", "id": "toolu_01", "name": "Read", "input": said.input},
            ],
        ),
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "toolu_01", "content": _texts(said.result)}],
        },
        answer("msg_2", [{"type": "text", "text": f"{said.description} and\n{said.answer}"}]),
    ]
    rows = []
    for n, message in enumerate(messages):
        row = {
            "uuid": f"u{n}",
            "parentUuid": f"u{n - 1}" if n else None,
            "sessionId": "s1",
            "cwd": "/srv",
            "version": "2.1.0",
        }
        rows.append(
            _dump({**row, "timestamp": f"2026-01-02T03:04:0{n}.000Z", "type": message["role"], "message": message})
            + b"\n"
        )
    return b"".join(rows)


def _gemini(dice: random.Random, slot: str, parts: list[str]) -> bytes:
    said = _said(dice, slot, parts)
    result = [{"functionResponse": {"id": "t1", "name": "read", "response": {"output": part}}} for part in said.result]
    call = {"id": "t1", "name": "read", "args": said.input, "result": result, "status": "success"}
    thought = {"subject": "plan", "description": said.thinking, "timestamp": "2026-01-02T03:04:05.000Z"}
    answer = {
        "id": "m2",
        "type": "gemini",
        "timestamp": "2026-01-02T03:04:06.000Z",
        "content": f"{said.answer}\n{said.description}",
        "thoughts": [thought],
        "toolCalls": [call],
        "model": "gemini-3-pro",
        "tokens": {"input": 900, "output": 20, "cached": 0, "thoughts": 3, "tool": 0, "total": 923},
    }
    users = [
        {"id": f"m1{n}", "type": "user", "timestamp": "2026-01-02T03:04:05.000Z", "content": part}
        for n, part in enumerate([said.system, *said.user])
    ]
    head = {
        "sessionId": "s1",
        "projectHash": "0" * 64,
        "startTime": "2026-01-02T03:04:05.000Z",
        "lastUpdated": "2026-01-02T03:04:06.000Z",
    }
    return _dump({**head, "messages": [*users, answer]})


def _dump(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()


SLOTS: Final = (
    *("user", "system", "input", "input", "result", "thinking", "description", "answer", "schema", "member"),
    *("title", "cwd", "name"),
)
ABOUT: Final = ("title", "cwd", "name")
LINES: Final = ("codex", "claude code")
FORMS: Final[dict[str, Callable[[random.Random, str, list[str]], bytes]]] = {
    "anthropic": _anthropic,
    "openai chat": _chat,
    "responses": _responses,
    "codex": _codex,
    "claude code": _claude_code,
    "gemini cli": _gemini,
}
