"""The arithmetic behind the inspector's figures, from the models of its panes."""

from __future__ import annotations

from collections.abc import Mapping

from ctxtui.tui.inspector.panels import Panels
from ctxtui.views.glossary import arithmetic
from ctxtui.views.text.span import plain
from ctxtui.views.text.sums import ROW
from ctxtui.views.transcript.block_details import describe_cost, details

_LINE = 1_000
"""Width that avoids line breaks."""


def sums(panels: Panels, pane: str, line: int, count: int) -> Mapping[str, str]:
    """Return the arithmetic of the figures in line `line` of a pane.

    `count` is the thread's number of calls.
    """
    scene = panels.scene
    sentences = {"call": f"Call {scene.number:,} of {count:,} is shown."} if scene is not None else {}
    if panels.context.content is not None:
        sentences |= arithmetic.explain_context(panels.context.content)
    if panels.call.content is not None:
        sentences |= arithmetic.explain_this_call(panels.call.content)
    if panels.why.content is not None:
        sentences |= arithmetic.explain_safe_cut(panels.why.content)
    if pane == "next-call" and panels.next.content is not None:
        sentences |= arithmetic.explain_next_call(panels.next.content, panels.header.content)
    if panels.staging is not None and panels.staged.content is not None:
        sentences |= arithmetic.explain_staged(panels.staged.content)
    if panels.header.content is not None and pane == "header":
        sentences |= arithmetic.explain_header(panels.header.content)
    node = _node(panels, pane, line)
    return sentences | {ROW: _block(panels, node)} if node else sentences


def _node(panels: Panels, pane: str, line: int) -> int | None:
    """Return the node of the block in this line; None if there is none."""
    if pane == "heaviest":
        row = panels.heaviest.row_under(line)
        return panels.heaviest.nodes[row] if row is not None and row < len(panels.heaviest.nodes) else None
    if pane != "transcript" or panels.transcript.data is None:
        return None
    row = panels.transcript.row_under(line)
    entry = panels.transcript.data.entry(row) if row is not None and row < panels.transcript.data.count else 0
    return entry if entry > 0 else None


def _block(panels: Panels, node: int) -> str:
    scene, rows = panels.scene, panels.transcript.data
    if scene is None or rows is None or not scene.running.is_counted(node):
        return ""
    own = scene.running.block_tokens(node)
    total = scene.figures.context_tokens
    # Blocks after the call shown are not in its context.
    tree = scene.session.tree
    part = total and tree[node].depth <= tree[scene.call.raw_head].depth
    share = f" = {100 * own / total:.1f} % of {total:,}" if part else ""
    details_text = [plain(spans) for spans in details(scene, node, rows.lifetimes, rows.repeats.get(node), _LINE)]
    return (
        ". ".join([f"{own:,} tokens{share}", *details_text, *filter(None, [describe_cost(scene, rows.ledger, node)])])
        + "."
    )
