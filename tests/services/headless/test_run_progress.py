"""What a run tells of its calls: their share of the window, the answer included, and when that is nearly all of it."""

from __future__ import annotations

from ctxtui.core.usage import Usage
from ctxtui.services.headless.run_progress import full_line, round_line, tokens_line


def test_a_call_and_its_share_of_the_window() -> None:
    used = Usage(fresh=20_000, cache_read=9_000, output=1_000)
    assert tokens_line(used, 32_768) == "Tokens: prompt=29,000 response=1,000 total=30,000 (91.6 % of 32,768)"
    assert tokens_line(used, 0) == "Tokens: prompt=29,000 response=1,000 total=30,000"
    assert tokens_line(None, 32_768) == "Tokens: not reported"
    assert round_line(3, 0, 1, None) == "round 3/∞: 1 message, tokens not counted"


def test_the_warning_begins_at_nine_tenths_of_the_window_with_the_answer() -> None:
    assert full_line(Usage(fresh=899, output=0), 1_000) == ""
    assert (
        full_line(Usage(fresh=899, output=1), 1_000) == "warning: the context is at 90 % of the window of 1,000 tokens"
    )
    assert full_line(Usage(fresh=2_000), 0) == full_line(None, 1_000) == ""
