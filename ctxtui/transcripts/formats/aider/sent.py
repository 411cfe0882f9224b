"""aider's record of the messages that it sent as a recording; the chat history may stand beside it."""

from __future__ import annotations

from ctxtui.core.tree import Tree
from ctxtui.transcripts.formats.aider.chat_history import AiderReader
from ctxtui.transcripts.formats.aider.llm_history import LlmHistoryReader, sniff
from ctxtui.transcripts.joined_reader import JoinedReader
from ctxtui.transcripts.reader import Reader

__all__ = ["reader", "sniff"]


def reader(tree: Tree) -> Reader:
    """A reader of the record of messages: its calls get model and figures, where a chat history tells them."""
    # The chat's contexts are another telling of the same: they get a tree of their own.
    apart = Tree()
    own = LlmHistoryReader(tree)
    return JoinedReader(own, tree, lambda name: AiderReader(apart), transcript=False, union=False, apart=apart)
