"""Detects a local server that silently cut a prompt longer than its window (facts §5)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from ctxtui.core.category import INDEX
from ctxtui.core.tree import ROOT, Tree

CUT_SHARE: Final = 0.75
"""A report below this share of our count means that something was cut, whatever the window is."""
_SYSTEM: Final = (INDEX["system"], INDEX["tools"])


class CutPrompt(NamedTuple):
    """A prompt of about `sent` tokens; the server read only `read` of them.

    `unseen` are the nodes that it did not read, if it cut in the usual way: the oldest messages first, system prompt
    and tools not at all.
    """

    sent: int
    read: int
    unseen: tuple[int, ...]


def is_cut(sent: int, slack: float, read: int, window: int) -> bool:
    """Whether a prompt counted as `sent` tokens was cut to `read`.

    `slack` is the count's relative error, `window` the server's window in tokens (0: unknown).
    """
    if not sent or not read or read >= sent * (1 - slack):
        return False
    return read < sent * CUT_SHARE or (window > 0 and sent > window)


def cut_prompt(
    tree: Tree, head: int, tokens_of: Callable[[int], int], sent: int, *, slack: float, read: int, window: int
) -> CutPrompt | None:
    """Find the part cut from the context `head` of `tree`.

    None if nothing was cut; figures as for `is_cut`.
    """
    if not is_cut(sent, slack, read, window):
        return None
    return CutPrompt(sent, read, unseen_nodes(tree, head, tokens_of, sent, read))


def unseen_nodes(tree: Tree, head: int, tokens_of: Callable[[int], int], sent: int, read: int) -> tuple[int, ...]:
    """Nodes that a server leaves out of the context `head` if it reads `read` of `sent` tokens."""
    path = tree.path(head, ROOT)
    kept_nodes = {n for n in path if tree[n].category in _SYSTEM or tree[n].place.role in ("system", "developer")}
    if sum(map(tokens_of, kept_nodes)) > read:
        kept_nodes = set()  # Not even these were read whole, so the server kept only the end of the prompt.
    nodes: list[int] = []
    excess = sent
    for node in path:
        if excess <= read:
            break
        if node not in kept_nodes:
            nodes.append(node)
            excess -= tokens_of(node)
    return tuple(nodes)


FIXES: Final = {
    "ollama": "start it with OLLAMA_CONTEXT_LENGTH={window}, or set PARAMETER num_ctx {window} in a Modelfile",
    "lm studio": "load the model with a context length of {window}",
    "llama.cpp": "start llama-server with -c {window} (times --parallel)",
    "llama-cpp-python": "start it with --n_ctx {window}",
    "vllm": "start it with --max-model-len {window}",
}
"""By kind of server: how to give it a larger window."""


def fix_for(kind: str, sent: int) -> str:
    """Fix for a server of `kind`: a window that holds prompts of `sent` tokens.

    The window is a power of two.
    """
    window = 1 << max(12, (sent * 5 // 4).bit_length())
    return FIXES.get(kind, "give the server a context of {window} tokens").format(window=window)
