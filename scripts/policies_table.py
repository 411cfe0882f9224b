"""Writes the last column of the cures in docs/policies.md: what each policy makes of its sample, counted.

python scripts/policies_table.py [--check]
"""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path

REPO = Path(__file__).parent.parent
sys.path[:0] = [str(REPO)]

PAGE = REPO / "docs" / "policies.md"
ROW = re.compile(
    r"^\| (?P<sample>\d-[\w-]+) \| `(?P<policy>[^`]+)` \| (?P<authors>.*?) \| (?P<ours>[^|]*) \|$", re.MULTILINE
)


def counted(sample: str, policy: str) -> str:
    """The context of the last call of `sample` before and after `policy` (its name, and ``--set key=value`` words)."""
    from ctxtui.analysis.call_choice import choose_call
    from ctxtui.curation.policies.policy import Step
    from ctxtui.curation.policies.settings_text import parse_settings
    from ctxtui.services.config.policy_registry import load_policies
    from ctxtui.services.config.settings import Settings
    from ctxtui.services.counting.books import book_for
    from ctxtui.services.counting.counting import Counter, count_all
    from ctxtui.services.counting.pricing import prices_for
    from ctxtui.services.editing.curate import curate_context
    from ctxtui.services.recordings.open import load
    from ctxtui.views.text import numbers

    name, *words = shlex.split(policy)
    known = load_policies()[name]
    settings = parse_settings(known, shlex.join(word for word in words if word != "--set"))
    session, counter = load(REPO / "sessions" / f"{sample}.jsonl").session, Counter()
    book = book_for(session, counter, Settings())
    count_all(book, counter)
    chosen = choose_call(session)
    tag = curate_context(book, counter, chosen, steps=(Step(known, settings),), prices=prices_for(Settings())).tag
    return f"{numbers.tokens(tag.before)} -> {numbers.tokens(tag.after)}"


def made(page: str) -> str:
    """`page` with the column as it is counted now."""

    def row(found: re.Match[str]) -> str:
        ours = counted(found["sample"], found["policy"])
        return f"| {found['sample']} | `{found['policy']}` | {found['authors']} | {ours} |"

    return ROW.sub(row, page)


def main() -> int:
    """Write the page, or say with --check whether it is as it should be."""
    page = PAGE.read_text(encoding="utf-8")
    found = made(page)
    if "--check" in sys.argv[1:]:
        return int(found != page)
    PAGE.write_text(found, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
