"""aider: messages, answers, rounded figures, chats that begin anew, output that is no answer."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ctxtui.core.call import EpochStart
from tests.corpus import corpus_params
from tests.transcripts.reading import calls, corpus_session, law_2, read, survives_cuts, total

NAME = ".aider.chat.history.md"
HISTORY = """
# aider chat started at 2024-08-05 20:39:59

> Aider v0.47.2
> Main model: claude-x with diff edit format
> Added a.py to the chat.

#### Fix the sum
#### in a.py

Here is the change.

#### is this kept? a heading inside
```python
x = 1
```

> Tokens: 5,244 sent, 604 received. Cost: $0.02 request, $0.05 session.
> Applied edit to a.py

#### And the tests?

They pass.

> Tokens: 12k sent, 2.5k cache write, 8k cache hit, 84 received. Cost: $0.0019 message, $0.05 session.

# aider chat started at 2024-08-06 08:00:00

> Models: gpt-9 with whole edit format, weak model gpt-0

A map that a command printed.

#### hi

Hello!
"""


def test_calls_with_their_figures() -> None:
    session = read(HISTORY.encode(), NAME)
    found = calls(session)
    assert [c.model for c in found] == ["claude-x", "claude-x", "claude-x", "gpt-9"]
    figures = [c.usage for c in found]
    assert figures[0] is None, "a heading that the answer held splits it: only the text says"
    assert figures[1] and (figures[1].fresh, figures[1].output, figures[1].cost) == (5244, 604, 0.02)
    assert figures[2] and (figures[2].fresh, figures[2].cache_read, figures[2].write_5m) == (1500, 8000, 2500)
    assert found[2].extra["rounded"] is True and figures[3] is None
    assert session.about.title == "Fix the sum in a.py" and session.about.version == "0.47.2"


def test_a_new_chat_begins_empty() -> None:
    session = read(HISTORY.encode(), NAME)
    last = calls(session)[-1]
    assert last.epoch.start is EpochStart.RESUME
    words = [i.block.value().get("text") for i in session.tree.items(last.response_head) if i.block.kind == "text"]
    assert words == ["hi", "Hello!"]
    assert [h.text for h in session.happenings] == ["A map that a command printed."]


def test_any_chunking_and_any_cut() -> None:
    law_2(HISTORY.encode(), NAME)
    survives_cuts(HISTORY.encode(), NAME)
    law_2(HISTORY.replace("\n", "\r\n").encode(), NAME)


@pytest.mark.parametrize("path", corpus_params("aider"))
def test_corpus(path: Path) -> None:
    session = corpus_session(path)
    reports = re.findall(r"^> Tokens: ([\d,]+) sent, ([\d,]+) received", path.read_text(), re.MULTILINE)
    assert total(session).input == sum(int(sent.replace(",", "")) for sent, _ in reports)
    assert total(session).output == sum(int(got.replace(",", "")) for _, got in reports)


def test_a_chat_that_is_restored_goes_on_from_all_that_was_said() -> None:
    session = read(
        b"# aider chat started at 2026-11-22 09:38:43\n\n#### first\n\nOne.\n\n> Tokens: 1.6k sent, 4 received.\n\n"
        b"# aider chat started at 2026-11-22 09:40:43\n\n#### second\n\nTwo.\n\n> Tokens: 1.6k sent, 4 received.\n\n"
        b"# aider chat started at 2026-11-22 09:41:43\n\n> Restored previous conversation history.  \n\n"
        b"#### third\n\nThree.\n\n> Tokens: 1.8k sent, 4 received.\n",
        NAME,
    )
    texts = [
        [item.block.value()["text"] for item in session.tree.items(call.raw_head) if item.block.kind == "text"]
        for call in calls(session)
    ]
    assert texts == [["first"], ["second"], ["first", "One.", "second", "Two.", "third"]]


def test_figures_that_no_number_holds_are_passed_over() -> None:
    data = b"# aider chat started at 2026-11-22 09:38:43\n\n#### first\n\nOne.\n\n> Tokens: %s sent, 4 received.\n"
    (call,) = calls(read(data % (b"9" * 400), ".aider.chat.history.md"))
    assert call.usage is None
