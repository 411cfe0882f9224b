"""Request bodies of every dialect as Hypothesis strategies: plausible ones, and spellings no client would send."""

from __future__ import annotations

import json
import random
from typing import Any

from hypothesis import strategies as st

from ctxtui.core.canonical import Number

WORDS = st.text(
    st.one_of(
        st.sampled_from(list("ab \"\\/<>&'+\n\t\x00\x07\x1b\x7fé漢😀\u2028\u202e\ufeff\ud800\udc80")),
        st.characters(),
    ),
    max_size=12,
)
NAMES = st.sampled_from(["read", "bash", "a_b", "ü", ""])
NUMBERS = st.one_of(
    st.integers(-(10**20), 10**20),
    st.sampled_from([Number("1e3"), Number("1.10"), Number("-0"), Number("1E+400"), Number("NaN"), 0.1, 1e16]),
)
JSONS = st.recursive(
    st.one_of(st.none(), st.booleans(), NUMBERS, WORDS),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.one_of(WORDS, st.sampled_from(["cache_control", "type", "content"])), inner, max_size=3),
    ),
    max_leaves=6,
)
MARKER = st.sampled_from(
    [{}, {}, {}, {"cache_control": {"type": "ephemeral"}}, {"prompt_cache_breakpoint": {"mode": "explicit"}}]
)


def _mixed(*dicts: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    """The dicts merged, their keys in any order."""

    def merge(found: tuple[tuple[dict[str, Any], ...], int]) -> dict[str, Any]:
        pairs = [pair for one in found[0] for pair in one.items()]
        random.Random(found[1]).shuffle(pairs)
        return dict(pairs)

    return st.tuples(st.tuples(*dicts), st.integers(0, 5)).map(merge)


def _with(base: dict[str, st.SearchStrategy[Any]], more: dict[str, st.SearchStrategy[Any]]) -> Any:
    return _mixed(st.fixed_dictionaries(base, optional=more), MARKER)


EXTRA = {"x_new": JSONS, "label": WORDS}
TEXT = _with({"type": st.just("text"), "text": WORDS}, {"citations": JSONS})
RESULT = _with(
    {"type": st.just("tool_result"), "tool_use_id": NAMES},
    {"content": st.one_of(WORDS, st.lists(TEXT, max_size=2), JSONS), "is_error": st.booleans()},
)
TOOL_USE = _with({"type": st.just("tool_use"), "id": NAMES, "name": NAMES, "input": JSONS}, {})
THINKING = _with({"type": st.just("thinking"), "thinking": WORDS, "signature": WORDS}, {})
ODD_PART = st.one_of(JSONS, _with({"type": WORDS}, EXTRA))
PARTS = st.lists(st.one_of(TEXT, TEXT, RESULT, TOOL_USE, THINKING, ODD_PART), max_size=4)
CONTENT = st.one_of(WORDS, PARTS, st.none())
ROLES = st.sampled_from(["user", "assistant", "system", "tool", "developer"])
ODD = st.one_of(JSONS, _with({}, EXTRA))

MESSAGE = st.one_of(
    _with({"role": ROLES, "content": CONTENT}, {"id": WORDS}), _with({"role": ROLES, "content": CONTENT}, {}), ODD
)
CHAT_CALL = _with(
    {"id": NAMES, "type": st.just("function")},
    {"function": st.fixed_dictionaries({"name": NAMES, "arguments": WORDS}), "index": NUMBERS},
)
CHAT_MESSAGE = st.one_of(
    MESSAGE,
    _with(
        {"role": ROLES},
        {
            "content": CONTENT,
            "tool_calls": st.one_of(st.lists(st.one_of(CHAT_CALL, JSONS), max_size=3), st.none()),
            "function_call": st.one_of(JSONS, st.fixed_dictionaries({"name": NAMES, "arguments": WORDS})),
            "refusal": st.one_of(WORDS, st.none()),
            "reasoning_content": st.one_of(WORDS, st.none()),
            "reasoning": WORDS,
            "tool_call_id": NAMES,
        },
    ),
)
OLLAMA_MESSAGE = st.one_of(
    MESSAGE,
    _with(
        {"role": ROLES},
        {
            "content": CONTENT,
            "thinking": st.one_of(WORDS, st.none()),
            "images": st.one_of(st.lists(st.one_of(WORDS, JSONS), max_size=2), st.none()),
            "tool_calls": st.lists(
                st.one_of(
                    _with({"function": st.fixed_dictionaries({"name": NAMES, "arguments": JSONS})}, {"id": NAMES}),
                    JSONS,
                ),
                max_size=3,
            ),
            "tool_name": NAMES,
        },
    ),
)
ITEM = st.one_of(
    MESSAGE,
    _with({"type": st.just("message"), "role": ROLES, "content": CONTENT}, {"id": WORDS, "phase": WORDS}),
    _with({"type": st.just("function_call"), "call_id": NAMES, "name": NAMES, "arguments": WORDS}, {}),
    _with({"type": st.just("function_call_output"), "call_id": NAMES, "output": CONTENT}, {}),
    _with({"type": st.just("reasoning"), "summary": st.lists(TEXT, max_size=1)}, {"encrypted_content": WORDS}),
    _with({"type": st.sampled_from(["text", "input_text", "weird", "image"])}, EXTRA),
)
TOOL = st.one_of(_with({"name": NAMES, "input_schema": JSONS}, EXTRA), JSONS)
SYSTEM = st.one_of(WORDS, st.lists(st.one_of(TEXT, WORDS, JSONS), max_size=2), JSONS)
PARAMS = {"model": WORDS, "stream": st.booleans(), "metadata": JSONS, "cache_control": JSONS}

GOOGLE_PART = st.one_of(
    st.fixed_dictionaries({"text": WORDS}),
    _with({"text": WORDS}, {"thought": st.booleans(), "thoughtSignature": WORDS}),
    _with(
        {
            "functionCall": _with({"name": NAMES, "args": JSONS}, {"id": NAMES}),
        },
        {"thoughtSignature": WORDS},
    ),
    _with({"function_response": _with({"name": NAMES, "response": JSONS}, {"id": NAMES})}, {}),
    _with({"inlineData": _with({"mimeType": st.sampled_from(["image/png", "audio/wav"]), "data": WORDS}, {})}, {}),
    _with({"executableCode": JSONS}, EXTRA),
    ODD_PART,
)
GOOGLE_CONTENT = st.one_of(
    _with(
        {"parts": st.one_of(st.lists(GOOGLE_PART, max_size=4), GOOGLE_PART, WORDS, JSONS)},
        {"role": st.sampled_from(["user", "model", "function", ""]), "x_new": JSONS},
    ),
    ODD,
)
GOOGLE_TOOL = st.one_of(
    _with({"functionDeclarations": st.lists(st.one_of(_with({"name": NAMES}, EXTRA), TOOL), max_size=3)}, EXTRA),
    _with({"function_declarations": st.lists(TOOL, max_size=2)}, {"googleSearch": JSONS, "name": NAMES}),
    JSONS,
)

BODIES = {
    "anthropic": _mixed(
        st.fixed_dictionaries(
            {"messages": st.lists(MESSAGE, max_size=4)},
            optional={**PARAMS, "tools": st.one_of(st.lists(TOOL, max_size=2), JSONS), "system": SYSTEM},
        )
    ),
    "openai_chat": _mixed(
        st.fixed_dictionaries(
            {"messages": st.lists(CHAT_MESSAGE, max_size=4)},
            optional={**PARAMS, "tools": st.lists(TOOL, max_size=2), "functions": st.lists(TOOL, max_size=2)},
        )
    ),
    "openai_responses": _mixed(
        st.fixed_dictionaries(
            {},
            optional={
                **PARAMS,
                "tools": st.lists(TOOL, max_size=2),
                "instructions": SYSTEM,
                "input": st.one_of(WORDS, st.lists(ITEM, max_size=5), JSONS),
                "previous_response_id": WORDS,
            },
        )
    ),
    "ollama_chat": _mixed(
        st.fixed_dictionaries(
            {"messages": st.lists(OLLAMA_MESSAGE, max_size=4)},
            optional={**PARAMS, "tools": st.lists(TOOL, max_size=2), "options": JSONS, "format": JSONS},
        )
    ),
    "google": _mixed(
        st.fixed_dictionaries(
            {"contents": st.one_of(st.lists(GOOGLE_CONTENT, max_size=4), GOOGLE_CONTENT)},
            optional={
                **PARAMS,
                "tools": st.one_of(st.lists(GOOGLE_TOOL, max_size=3), GOOGLE_TOOL),
                "systemInstruction": st.one_of(GOOGLE_CONTENT, WORDS),
                "generationConfig": JSONS,
            },
        )
    ),
}


class Speller:
    """Writes JSON with one library's habits, or (`wild`) with every freedom the grammar gives."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.wild = seed % 4 == 0
        self.ascii = self.random.random() < 0.4
        self.upper = self.random.random() < 0.3
        self.escaped = set(self.random.choice(["", "", "/", "<>&", "'+\"<>&`", "\x7f\u2028"]))
        self.indent = self.random.choice(["", "", "", "  ", "\t", "    "])
        self.newline = self.random.choice(["\n", "\n", "\r\n"])
        self.comma, self.colon = self.random.choice([(",", ":"), (", ", ": "), (",", ": "), (" , ", " : ")])

    def blank(self) -> str:
        if not self.wild or self.random.random() < 0.7:
            return ""
        return self.random.choice([" ", "\n", "\r\n", "\t ", "  "])

    def string(self, text: str) -> str:
        return '"' + "".join(self.char(c) for c in text) + '"'

    def char(self, c: str) -> str:
        short = {"\n": "\\n", "\r": "\\r", "\t": "\\t", "\b": "\\b", "\f": "\\f", '"': '\\"', "\\": "\\\\"}
        wild = self.wild and self.random.random() < 0.2
        if c == "/" and ("/" in self.escaped or wild):
            return "\\/"
        if c in short and not wild and c not in self.escaped:
            return short[c]
        must = c < " " or c in '"\\' or "\ud800" <= c <= "\udfff"
        if must or wild or c in self.escaped or (self.ascii and c > "~"):
            data = c.encode("utf-16-be", "surrogatepass")
            units = [data[i : i + 2].hex() for i in range(0, len(data), 2)]
            return "".join("\\u" + (unit.upper() if self.upper else unit) for unit in units)
        return c

    def write(self, value: Any, depth: int = 0) -> str:
        if isinstance(value, str):
            return self.string(value)
        if isinstance(value, dict):
            pairs = list(value.items())
            if self.wild and pairs and self.random.random() < 0.2:
                pairs.append(self.random.choice(pairs))
            return self._many("{}", [(key, item) for key, item in pairs], depth)
        if isinstance(value, list):
            return self._many("[]", [(None, item) for item in value], depth)
        return value.text if isinstance(value, Number) else json.dumps(value)

    def _many(self, brackets: str, pairs: list[tuple[str | None, Any]], depth: int) -> str:
        if not pairs:
            return brackets[0] + self.blank() + brackets[1]
        gap = self.newline + self.indent * (depth + 1) if self.indent else ""
        last = self.newline + self.indent * depth if self.indent else ""
        texts = []
        for key, item in pairs:
            head = "" if key is None else self.string(key) + self.blank() + self.colon
            texts.append(gap + self.blank() + head + self.blank() + self.write(item, depth + 1))
        comma = "," if self.indent else self.comma
        return brackets[0] + comma.join(texts) + self.blank() + last + brackets[1]


@st.composite
def spelled(draw: st.DrawFn, dialect: str) -> bytes:
    """A body of `dialect` as bytes, in some spelling."""
    value = draw(BODIES[dialect])
    seed = draw(st.integers(0, 200))
    speller = Speller(seed)
    head = draw(st.sampled_from(["", "", "\ufeff", " ", "\r\n", "\ufeff\n"]))
    tail = draw(st.sampled_from(["", "", "\n", "\r\n", "  \n\n"]))
    text = head + speller.write(value) + tail
    return text.encode("utf-8", "surrogatepass")
