"""Encrypted thinking: counted as reported, and whether later calls carry it (facts §4).

OpenAI reports the reasoning tokens of an answer, but the reasoning itself is encrypted. If it is sent back, it counts
in the input of later calls, unless the provider withholds it. The reports of those calls show which.
"""

from __future__ import annotations

from collections import deque
from itertools import islice
from typing import Final

from ctxtui.core.call import Call, answer_path
from ctxtui.core.category import INDEX
from ctxtui.core.session import Session
from ctxtui.core.tree import Node

_KIND: Final = "reasoning"
_THINKING: Final = INDEX["thinking"]
_CIPHERS: Final = (b"encrypted_content", b"EncryptedContent")
"""Members in which clients keep OpenAI's cipher next to the summary of a thought (pi, OpenCode)."""
_MIN_REASONING: Final = 16
"""Minimum reasoning tokens for a report to be informative."""
_MAX_VOTES: Final = 9
"""Number of newest reports that decide."""
_MAX_WAITING: Final = 256
"""Maximum number of calls without a report that are checked again for one."""


class ReportedThinking:
    """Tokens of reasoning blocks by tree node, from the report of the call that made them.

    `alike`: by digest. Several blocks of an answer share its tokens by the length of their JSON.
    """

    def __init__(self, session: Session) -> None:
        self.tokens: dict[int, float] = {}
        self.alike: dict[str, float] = {}
        self._session = session
        self._read = 0
        self._waiting: deque[str] = deque(maxlen=_MAX_WAITING)

    def advance(self) -> int | None:
        """Process the new reports; returns the first node that they are about, or None."""
        calls = self._session.calls
        # Copy at once: another thread may be adding calls.
        new = list(islice(calls, self._read, None)) if len(calls) > self._read else []
        todo = [*self._waiting, *new]
        self._read += len(new)
        self._waiting.clear()
        nodes: list[int] = []
        for id_ in todo:
            call = calls[id_]
            if call.usage is None:
                self._waiting.append(id_)
            elif call.usage.reasoning:
                nodes += self._add_report(call, call.usage.reasoning)
        return min(nodes, default=None)

    def _add_report(self, call: Call, tokens: int) -> list[int]:
        tree = self._session.tree
        nodes = [node for node in answer_path(tree, call) if node not in self.tokens and _is_cipher(tree[node])]
        total_chars = sum(len(tree[node].block.body) for node in nodes)
        for node in nodes:
            self.tokens[node] = tokens * len(tree[node].block.body) / total_chars
            self.alike.setdefault(tree[node].block.digest, self.tokens[node])
        return nodes


def _is_cipher(node: Node) -> bool:
    if node.block.kind == _KIND:
        return True
    return node.category == _THINKING and any(name in node.block.body for name in _CIPHERS)


class CarriedReasoning:
    """Whether a model's provider counts reported reasoning in later input.

    The newest reports decide; until then it is assumed.
    """

    def __init__(self) -> None:
        self._votes: deque[bool] = deque([True], maxlen=_MAX_VOTES)

    @property
    def is_carried(self) -> bool:
        return 2 * sum(self._votes) > len(self._votes)

    def learn(self, reasoning: int, error: float) -> None:
        """Learn from a call predicted with `reasoning` tokens, whose report was `error` tokens off."""
        if reasoning >= _MIN_REASONING:
            self._votes.append(abs(error) <= abs(error + reasoning))
