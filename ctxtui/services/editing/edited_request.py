"""The next request of a session under its applied edits."""

from __future__ import annotations

from functools import cached_property

from msgspec import Struct

from ctxtui.analysis.cache.what_if import NextRequest
from ctxtui.analysis.call_choice import ChosenCall
from ctxtui.core.call import Call
from ctxtui.core.edit import Edit
from ctxtui.core.edit_log import edits_in_force
from ctxtui.core.errors import CtxtuiError
from ctxtui.core.tree import ROOT
from ctxtui.curation.apply.applied import Applied, sent_items
from ctxtui.curation.price.edited_prompt import Count, edited_lengths, marked_prompt
from ctxtui.curation.price.price_tag import Charge, PriceQuestion
from ctxtui.services.config.settings import Settings
from ctxtui.services.editing.overlay import SessionEdits
from ctxtui.services.recordings.recording import Loaded


def applied_edits(loaded: Loaded, settings: Settings, chosen: ChosenCall) -> tuple[Edit, ...]:
    """The edits applied to the request after the `chosen` call of the session in `loaded`.

    If the call is not the last, they are those applied by the start of the next one; all, if that time is not recorded.
    Empty if the session is not stored. Raises `CtxtuiError` if the database cannot be read.
    """
    log = SessionEdits(loaded, settings).of_thread(chosen.thread).log
    later = loaded.session.thread_calls(chosen.thread)[chosen.number :]
    if chosen.number and later and (next_start := later[0].started) is not None:
        log = [entry for entry in log if entry.at <= next_start]
    return edits_in_force(log).applied


def try_applied_edits(loaded: Loaded, settings: Settings, chosen: ChosenCall) -> tuple[tuple[Edit, ...], str]:
    """`applied_edits` and "", or none and the text of the error."""
    try:
        return applied_edits(loaded, settings, chosen), ""
    except CtxtuiError as error:
        return (), str(error)


class SentPath(Struct, frozen=True, dict=True):
    """The path of nodes, up to `head`, that a context under edits (`applied`) would send."""

    applied: Applied
    head: int

    @classmethod
    def from_applied(cls, applied: Applied) -> SentPath:
        """Add the nodes that `applied` would send to the tree of its context."""
        return cls(applied, applied.context.tree.extend(ROOT, sent_items(applied)))

    @cached_property
    def nodes(self) -> list[int]:
        return self.applied.context.tree.path(self.head)

    def make_price_question(
        self, call: Call, raw: NextRequest, next_request: NextRequest, charge: Charge, count: Count
    ) -> PriceQuestion:
        """Make the price question for `next_request`, the request at `head` after `call`.

        `raw` is the request without edits, `charge` the pricing of its usage; `count` gives the tokens of a block. The
        caller adds `PriceQuestion.sent_blocks` and `PriceQuestion.continued_read`.
        """
        prompt, ends = next_request.prompt, next_request.ends
        if call.is_edited:
            parts = self._find_parting(call)
        else:
            # The last call was sent unedited, so its report counts the raw blocks: add the changes to those.
            lengths = edited_lengths(raw.prompt, self.applied.without_edits, self.applied, count)
            tokens_up_to, parts = dict(zip(self.nodes, lengths.upto, strict=True)), lengths.first

            def tokens(node: int) -> int:
                raw_node, added = tokens_up_to.get(node, (node, 0))
                return raw.prompt.tokens(raw_node) + added

            prompt = prompt._replace(tokens=tokens, total=lengths.total)
        marked = marked_prompt(prompt, ends, self.applied, self.nodes)
        return PriceQuestion(
            next_request.simulator,
            marked,
            charge,
            next_request.at,
            request_ends=ends,
            nodes=self.nodes,
            parts_at=parts,
            floors=next_request.floors,
        )

    def _find_parting(self, call: Call) -> int | None:
        """The raw position from which the request differs from what `call` sent.

        None if it continues that.
        """
        tree = self.applied.context.tree
        shared = tree.common(self.head, call.sent_head)
        if shared == call.sent_head:
            return None
        items, at = self.applied.items, tree[shared].depth
        return items[at].position if at < len(items) else len(self.applied.context)
