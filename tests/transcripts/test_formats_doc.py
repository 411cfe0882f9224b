"""The document on formats says what is so: its example is read, its line kinds are the format's."""

from __future__ import annotations

import re
from pathlib import Path

from ctxtui.core.session import Session
from ctxtui.transcripts.formats.ctxtui import CtxtuiReader, write
from ctxtui.transcripts.formats.ctxtui.layout import LINE_MEMBERS

TEXT = (Path(__file__).parents[2] / "docs" / "formats.md").read_text(encoding="utf-8")


def test_the_example_is_what_would_be_written() -> None:
    match = re.search(r"```json\n(.*?)```", TEXT, re.DOTALL)
    assert match is not None
    data = match.group(1).encode()
    session = Session()
    reader = CtxtuiReader(session.tree)
    session.fold(reader.feed(data))
    assert session.skipped == []
    assert write(session) == data


def test_every_line_and_member_is_described() -> None:
    table = TEXT[TEXT.rindex("| line | members |") :]
    rows = dict(re.findall(r"^\| `(\w+)` \| (.*) \|$", table, re.MULTILINE))
    assert rows.keys() == LINE_MEMBERS.keys()
    for kind, members in LINE_MEMBERS.items():
        assert all(f"`{member}`" in rows[kind] for member in members - {kind}), kind
