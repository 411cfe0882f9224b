"""The arithmetic behind the figures of the inspector, from the models that its panes show."""

from __future__ import annotations

from collections.abc import Mapping

from ctxtui.tui.inspector.panels import Panels
from ctxtui.views.glossary import arithmetic
from ctxtui.views.text.span import plain
from ctxtui.views.text.sums import ROW
from ctxtui.views.transcript.block_details import describe_cost, details

_LINE = 1_000
"""Cells of a line that is not broken."""


def sums(panels: Panels, pane: str, line: int, count: int) -> Mapping[str, str]:
    """What is told of the figures in line `line` of a pane; `count` calls are in the line of context shown."""
    scene = panels.scene
    found = dict(arithmetic.explain_call_numbers(scene.number, count)) if scene is not None else {}
    if panels.context.what is not None:
        found |= arithmetic.explain_context(panels.context.what)
    if panels.call.what is not None:
        found |= arithmetic.explain_this_call(panels.call.what)
    if panels.why.what is not None:
        found |= arithmetic.explain_safe_cut(panels.why.what)
    if pane == "next-call" and panels.next.what is not None:
        found |= arithmetic.explain_next_call(panels.next.what, panels.header.what)
    if panels.staging is not None and panels.staged.what is not None:
        found |= arithmetic.explain_staged(panels.staged.what)
    if panels.header.what is not None and pane == "header":
        found |= arithmetic.explain_header(panels.header.what)
    node = _node(panels, pane, line)
    return found | {ROW: _block(panels, node)} if node else found


def _node(panels: Panels, pane: str, line: int) -> int | None:
    """The node of the block whose row stands there."""
    if pane == "heaviest":
        row = panels.heaviest.row_under(line)
        return panels.heaviest.nodes[row] if row is not None and row < len(panels.heaviest.nodes) else None
    if pane != "transcript" or panels.transcript.data is None:
        return None
    row = panels.transcript.row_under(line)
    entry = panels.transcript.data.entry(row) if row is not None and row < panels.transcript.data.count else 0
    return entry if entry > 0 else None


def _block(panels: Panels, node: int) -> str:
    """A block's tokens, what it carried, what it cost."""
    scene, rows = panels.scene, panels.transcript.data
    if scene is None or rows is None or not scene.running.is_counted(node):
        return ""
    own = scene.running.block_tokens(node)
    total = scene.figures.context_tokens
    # What came after the call shown is no part of its context.
    tree = scene.session.tree
    part = total and tree[node].depth <= tree[scene.call.raw_head].depth
    share = f" = {100 * own / total:.1f} % of {total:,}" if part else ""
    told = [plain(spans) for spans in details(scene, node, rows.stays, rows.repeats.get(node), _LINE)]
    return ". ".join([f"{own:,} tokens{share}", *told, *filter(None, [describe_cost(scene, rows.ledger, node)])]) + "."
