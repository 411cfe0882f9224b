"""What a model is asked for a summary: the sections, what it must keep, and the part in words."""

from __future__ import annotations

from ctxtui.curation.context import Context
from ctxtui.curation.price.dependence import Literals
from ctxtui.curation.summary_request import SECTIONS, external_request, quoted_literals, request_in_context, template
from tests.curation.price.test_price_tag import long_talk, result


def part() -> tuple[Context, list[int]]:
    context = long_talk().context
    scene = long_talk()
    return context, list(range(result(scene, 2) - 2, result(scene, 4) + 1))


def test_it_must_keep_what_later_blocks_quote() -> None:
    context, positions = part()
    known = Literals(context)
    known.advance()
    assert quoted_literals(known, positions)[0] == "token_3_secret"
    asked = template((), quoted_literals(known, positions))
    assert all(f"- {section}" in asked for section in SECTIONS) and "- token_3_secret" in asked


def test_a_model_from_outside_reads_the_part_and_nothing_else() -> None:
    context, positions = part()
    asked = external_request(context, positions, ("Facts",), ())
    assert "- Facts" in asked and "- Goal" not in asked
    assert "token_3_secret = 123453" in asked and "token_1_secret" not in asked
    assert '[calls run] {"command":"cat src/part_3.py"}' in asked and asked.endswith("</part>")


def test_the_agent_is_told_which_part() -> None:
    context, positions = part()
    asked = request_in_context(context, positions, (), ())
    assert "cat src/part_2.py" in asked and "call no tool" in asked and "token_3_secret = 123453\ntoken" not in asked
