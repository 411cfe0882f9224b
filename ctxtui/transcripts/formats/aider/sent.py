"""aider's record of the messages that it sent as a recording; the chat history may stand beside it."""

from __future__ import annotations

from ctxtui.core.tree import Tree
from ctxtui.transcripts.formats.aider.answers import Answers
from ctxtui.transcripts.formats.aider.chat_history import AiderReader
from ctxtui.transcripts.formats.aider.joining import JoinedRecord, OtherRecord
from ctxtui.transcripts.formats.aider.llm_history import LlmHistoryReader, sniff
from ctxtui.transcripts.reader import Reader

__all__ = ["reader", "sniff"]


def reader(tree: Tree) -> Reader:
    """A reader of the record of messages: its calls get model and figures, where a chat history tells them."""
    answers = Answers()

    def beside(name: str) -> Reader:
        # Its contexts are another telling of the same: they get a tree of their own.
        apart = Tree()
        return OtherRecord(AiderReader(apart), lambda seen: answers.noted(seen.call, apart), record.news)

    own = LlmHistoryReader(tree)
    record = JoinedRecord(own, lambda seen: answers.sent(seen.call, tree), answers.with_figures, beside)
    return record
