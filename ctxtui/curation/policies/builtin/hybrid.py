"""The policy ``hybrid``: a window over messages, and cut results inside it."""

from __future__ import annotations

from collections.abc import Iterator

from ctxtui.core.edit import Edit
from ctxtui.curation.policies.builtin import sliding_window, truncate_results
from ctxtui.curation.policies.policy import Policy
from ctxtui.curation.policies.policy_context import PolicyContext, Settings
from ctxtui.curation.policies.risk import Risk

NAME = "hybrid"


def propose(policy_context: PolicyContext, settings: Settings) -> Iterator[Edit]:
    """Propose what `sliding_window` does, then what `truncate_results` does on the rest.

    The edits have the names of those two policies.
    """
    window = list(sliding_window.propose(policy_context, {key: settings[key] for key in ("n", "keep_first", "slack")}))
    yield from window
    result_settings = {"limit": settings["limit"], "keep_last": 0, "exclude": []}
    yield from truncate_results.propose(policy_context.under(window), result_settings)


POLICY = Policy(
    NAME,
    "sliding_window and truncate_results together",
    propose,
    {"n": 9, "keep_first": 1, "slack": 4, "limit": 2000},
    {
        "n": "messages kept at the end",
        "keep_first": "messages kept at the front",
        "slack": "messages more before it acts",
        "limit": "characters kept of a result",
    },
    least=Risk.PARTS,
)
