"""All policies by name."""

from __future__ import annotations

from typing import Final

from ctxtui.curation.policies.builtin import (
    budget,
    clear_tool_results,
    compact_json,
    dedupe_reads,
    drop_unused_tools,
    externalize_large,
    generation_window,
    hybrid,
    keep_rounds,
    minimise_schemas,
    sliding_window,
    stateless,
    strip_images,
    strip_thinking,
    summarize_at,
    summarize_every,
    tabulate_trials,
    trim_old_turns,
    truncate_results,
)
from ctxtui.curation.policies.policy import Policy

_RULES: Final[dict[str, Policy]] = {
    module.POLICY.name: module.POLICY
    for module in (
        sliding_window,
        keep_rounds,
        truncate_results,
        clear_tool_results,
        dedupe_reads,
        externalize_large,
        compact_json,
        trim_old_turns,
        strip_images,
        strip_thinking,
        minimise_schemas,
        drop_unused_tools,
        summarize_every,
        summarize_at,
        generation_window,
        hybrid,
        stateless,
        tabulate_trials,
    )
}
POLICIES: Final[dict[str, Policy]] = {**_RULES, budget.NAME: budget.make_policy(_RULES.values())}
"""Every policy, in the order of the help."""
