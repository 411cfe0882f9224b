"""aider's chat history as a recording; the messages that were sent may stand beside it."""

from __future__ import annotations

from ctxtui.core.tree import Tree
from ctxtui.transcripts.formats.aider.answers import Answers
from ctxtui.transcripts.formats.aider.chat_history import AiderReader, sniff
from ctxtui.transcripts.formats.aider.joining import JoinedRecord, OtherRecord
from ctxtui.transcripts.formats.aider.llm_history import LlmHistoryReader
from ctxtui.transcripts.reader import Reader

__all__ = ["reader", "sniff"]


def reader(tree: Tree) -> Reader:
    """A reader of a chat history: its calls get the contexts that were sent, where those are recorded."""
    answers = Answers()

    def beside(name: str) -> Reader:
        return OtherRecord(LlmHistoryReader(tree), lambda seen: answers.sent(seen.call, tree), record.news)

    record = JoinedRecord(AiderReader(tree), lambda seen: answers.noted(seen.call, tree), answers.with_messages, beside)
    return record
