"""Files in a bad state, and fields of unexpected types."""

from __future__ import annotations

import json

from tests.cases.claude_code import Script, line, text, tool_result
from tests.cases.claude_code_odd.table import hello, odd


@odd
def unreadable_records() -> bytes:
    """A torn user record with the next one glued to it, a string, NULs, a snapshot cut off."""
    script = hello(Script())
    lines = [line(record) for record in script.records]
    script.user("lost words")
    lost = line(script.records[-1])
    script.assistant(text("heard"), id="msg_2")
    next_ = line(script.records[-1])
    torn = [lost[:-60] + next_, b'"a string"', b"\0\0\0\0", b'{"type":"file-history-snapshot","snapshot":{"x']
    return b"\n".join([*lines, *torn]) + b"\n"


@odd
def damaged_text() -> bytes:
    """A byte order mark, CRLF, invalid UTF-8, a lone surrogate, an escape that is none, a raw control character."""
    script = Script()
    script.user("caf\xe9 \ud83d x")
    script.user("bad \x01 escape %u")
    script.assistant(text("ok"), id="msg_1")
    one, two, three = (line(record) for record in script.records)
    one = one.replace(b"caf\xc3\xa9", b"caf\xe9").replace(b"\xed\xa0\xbd", rb"\ud83d")
    two = two.replace(b"\\u0001", b"\x01").replace(b"%u", rb"\u00zz")
    return b"\xef\xbb\xbf" + b"\r\n".join([one, two, three]) + b"\r\n"


@odd
def pretty_printed() -> bytes:
    """Several records in a row, each over many lines."""
    script = hello(Script())
    return "\n".join(json.dumps(record, indent=2) for record in script.records).encode() + b"\n"


@odd
def one_list() -> bytes:
    """All records in one JSON list."""
    return json.dumps(hello(Script()).records, indent=1).encode()


@odd
def glued_and_cut() -> bytes:
    """All records on one line, the last one cut."""
    script = hello(Script())
    whole = b"".join(line(record) for record in script.records)
    script.user("this is cut")
    return whole + line(script.records[-1])[:-30]


@odd
def strange_shapes() -> bytes:
    """Fields of unexpected types, a message that is a string, unknown types with and without a message."""
    script = Script()
    script.user("hello")
    script.put("assistant", message="just words", version=7, cwd=None, isSidechain="no")
    script.put("user", message={"role": "user", "content": [{"type": "text", "text": "a"}, "b", 3, None]})
    script.put("user", message={"role": "user", "content": {"type": "text", "text": "c"}}, timestamp=12)
    script.put("oracle", message={"role": "user", "content": "from an unknown type"}, timestamp="yesterday")
    script.put("telemetry", payload={"x": 1})
    script.loose("mode-change", mode="plan")
    script.assistant(text("ok"), {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search"}, id="msg_1")
    script.assistant({"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}, id="msg_1")
    script.user([tool_result("toolu_unknown", "whose?"), text("next")])
    script.assistant(text("hm"), id="msg_2", timestamp="2020-01-01T00:00:00Z")
    return script.dump()
