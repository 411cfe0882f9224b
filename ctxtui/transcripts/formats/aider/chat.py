"""Reads aider's chat history, joined with its history of sent messages if there is one."""

from __future__ import annotations

from ctxtui.core.tree import Tree
from ctxtui.transcripts.formats.aider.chat_history import AiderReader, sniff
from ctxtui.transcripts.formats.aider.llm_history import LlmHistoryReader
from ctxtui.transcripts.joined import JoinedReader
from ctxtui.transcripts.reader import Reader

__all__ = ["reader", "sniff"]


def reader(tree: Tree) -> Reader:
    return JoinedReader(AiderReader(tree), tree, lambda name: LlmHistoryReader(tree), union=False)
