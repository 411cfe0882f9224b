"""Label rules: how they are written, where they find what they look for, and how a text is cut."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxtui.analysis.labels.labelling import Labelling, searched_text
from ctxtui.analysis.labels.match import Match, find_matches
from ctxtui.analysis.labels.rules import parse_rule
from ctxtui.analysis.labels.segments import LabelledSpan, cut_text
from ctxtui.core import block
from ctxtui.core.block_content import read
from ctxtui.core.category import CATEGORIES
from ctxtui.core.errors import BadConfig
from ctxtui.services.config.package_data import label_tables
from tests.cases import systems

SHIPPED = Labelling(parse_rule(name, table) for name, table in label_tables().items())
TAGS = {"between": ["<a>", "</a>"]}


def found(rule: dict[str, Any], text: str) -> list[str]:
    return [text[m.start : m.end] for m in find_matches(0, parse_rule("r", rule), text)]


def labels(text: str, category: str = "user", labelling: Labelling = SHIPPED) -> dict[str, int]:
    body = block.text(text).body
    counts: dict[str, int] = {}
    for piece in labelling.cut(category, body, text) if labelling.may_split(category, body) else []:
        if piece.rule >= 0:
            label = labelling.rules[piece.rule].label
            counts[label] = counts.get(label, 0) + piece.begins
    return counts


@pytest.mark.parametrize(
    ("table", "why"),
    [
        ("text", "it must be a table with one of between, regex, pointer"),
        ({}, "it must have exactly one of between, regex, pointer"),
        ({"regex": "a", "pointer": "/a"}, "it must have exactly one of between, regex, pointer"),
        ({"regexp": "a"}, "unknown key 'regexp'; there are label, category, in, inside, contains, between, regex, "),
        ({"regex": "(a"}, "not a regular expression: missing ), unterminated subpattern at position 0"),
        ({"regex": ""}, "regex must not be empty"),
        ({"between": ["<a>"]}, "between must be two tags, not ['<a>']"),
        ({"pointer": "buttons"}, "a pointer begins with /, not 'buttons'"),
        ({**TAGS, "category": "thinking"}, "category must be one of system, tools, memory, user, "),
        ({**TAGS, "in": ["users"]}, "in must be of system, tools, memory, user, "),
        ({**TAGS, "label": 3}, "label must be a text, not 3"),
    ],
)
def test_a_wrong_rule_says_what_is_wanted(table: Any, why: str) -> None:
    with pytest.raises(BadConfig, match=re.escape(why)) as caught:
        parse_rule("mine", table, "ctxtui.toml:3")
    assert caught.value.place == "ctxtui.toml:3, label rule mine"


@pytest.mark.parametrize(
    ("table", "text", "expected"),
    [
        (TAGS, "x<a>1</a>y<a>2</a>", ["<a>1</a>", "<a>2</a>"]),
        (TAGS, "<a>1<a>2</a>3</a>", ["<a>1<a>2</a>"]),
        (TAGS, "<a>never closed", []),
        ({"regex": r"\d+"}, "a1b22", ["1", "22"]),
        ({"regex": r"k=(?P<segment>\d+)|k"}, "k=1 k=22 k", ["1", "22"]),
        ({"regex": r"x*"}, "axxa", ["xx"]),
        ({"pointer": "/a/*"}, '{"a":[1, [2]]}', ["1", "[2]"]),
        ({"pointer": "/a/1"}, '{"a":[1, [2]]}', ["[2]"]),
        ({"pointer": "/*/b"}, '{"x":{"b":1},"y":{"c":2},"z":3}', ["1"]),
        ({"pointer": "/a~1b/~0"}, '{"a/b":{"~":"yes"}}', ['"yes"']),
        ({"pointer": "/a"}, 'words\n  {"a": 1}\n[{"a": 2}]\n{"a": {"a": 3}} and', ["1", '{"a": 3}']),
        ({"pointer": "/a", "beside": ["/x", "/y"]}, '{"a":1,"y":2}\n{"a":3}', ["1"]),
        ({"pointer": "/a"}, 'in a line {"a": 1}', []),
        ({"pointer": ["/a", "/b"], "beside": "/c"}, '{"a":1,"b":2,"c":0}\n{"a":1}', ["1", "2"]),
        ({"pointer": "/a"}, '{"a": 1', []),
        ({"pointer": "/a"}, "[" * 5000, []),
    ],
)
def test_what_is_found(table: dict[str, Any], text: str, expected: list[str]) -> None:
    assert found(table, text) == expected


def test_a_rule_looks_inside_anothers_findings_whatever_their_order() -> None:
    inner, outer = parse_rule("n", {"regex": r"\A.|\d", "inside": "a"}), parse_rule("a", TAGS)
    for rules in ([inner, outer], [outer, inner]):
        labelling = Labelling(rules)
        assert labels("1<a>2</a>3", labelling=labelling) == {"a": 1, "n": 2}
        assert labelling.idle == ()
    assert Labelling([inner]).idle == (inner,)


@pytest.mark.parametrize(
    ("tables", "idle"),
    [
        # A rule whose label it searches inside: others that give the label make it run, and it keeps none from running.
        ({"own": {"regex": "2", "inside": "a", "label": "a"}}, []),
        # Rules that wait for each other, one of which can run.
        ({"b": {"regex": "2", "inside": "a"}, "back": {"regex": "x", "inside": "b", "label": "a"}}, []),
        # A rule that gives the label, too, but can never run.
        ({"never": {"regex": "x", "inside": "nowhere", "label": "a"}}, ["never"]),
        ({"one": {"regex": "x", "inside": "two"}, "two": {"regex": "x", "inside": "one"}}, ["one", "two"]),
    ],
    ids=["its own label", "a circle", "one that never runs", "a circle without a start"],
)
def test_a_rule_is_idle_only_if_no_other_gives_what_it_looks_inside(tables: dict[str, Any], idle: list[str]) -> None:
    every = {"a": TAGS, "n": {"regex": r"\d", "inside": "a"}, **tables}
    for names in (list(every), list(reversed(every))):
        labelling = Labelling(parse_rule(name, every[name]) for name in names)
        assert sorted(rule.name for rule in labelling.idle) == idle
        assert labels("1<a>4</a>3", labelling=labelling) == {"a": 1, "n": 1}


@pytest.mark.parametrize(
    ("table", "needles"),
    [
        (TAGS, (b"<a>",)),
        ({"between": ['<a b="c">', "x"]}, (b"<a b=",)),
        ({"between": ["\n\n", "x"]}, ()),
        ({"regex": "x"}, ()),
        ({"regex": "x", "contains": ["one", 'the "longest" run']}, (b"one", b"longest")),
        ({"pointer": ["/a/*/bounds/0", "/b"]}, (b"bounds", b"b")),
        ({"between": ["äöü", "x"]}, ()),
    ],
)
def test_which_blocks_are_looked_into(table: dict[str, Any], needles: tuple[bytes, ...]) -> None:
    assert parse_rule("r", table).needles == needles


@given(st.text(), st.text(min_size=1))
def test_no_block_that_holds_a_tag_is_passed_over(before: str, tag: str) -> None:
    rule = parse_rule("r", {"between": [tag, "</end>"]})
    assert rule.applies("user", block.text(f"{before}{tag}").body)


SPANS = st.lists(st.tuples(st.integers(0, 30), st.integers(1, 12), st.integers(0, 4)), max_size=12)


@given(SPANS)
def test_pieces_are_the_text_and_every_finding_begins_once(spans: list[tuple[int, int, int]]) -> None:
    length = 45
    hits = [Match(start, start + many, rule) for start, many, rule in spans]
    pieces = cut_text(length, hits)
    assert bool(pieces) == bool(hits)
    at = 0
    for piece in pieces:
        assert piece.start == at <= piece.end
        at = piece.end
    assert at == (length if hits else 0)
    extents = {(one.start, one.end) for one in hits}
    assert sum(piece.begins for piece in pieces) == len(extents)
    for piece in pieces:
        around = [m for m in hits if m.start <= piece.start and piece.start < m.end]
        assert piece.start == piece.end or (piece.rule == -1) == (not around)


def test_the_inner_finding_has_the_text_and_an_empty_outer_one_still_counts() -> None:
    assert cut_text(10, [Match(2, 8, 0), Match(4, 6, 1)]) == [
        LabelledSpan(0, 2, -1, 0),
        LabelledSpan(2, 4, 0, 1),
        LabelledSpan(4, 6, 1, 1),
        LabelledSpan(6, 8, 0, 0),
        LabelledSpan(8, 10, -1, 0),
    ]
    assert cut_text(4, [Match(0, 4, 0), Match(0, 2, 1), Match(2, 4, 1)]) == [
        LabelledSpan(0, 2, 1, 1),
        LabelledSpan(2, 4, 1, 1),
        LabelledSpan(4, 4, 0, 1),
    ]
    assert cut_text(4, [Match(0, 4, 2), Match(0, 4, 1)]) == [LabelledSpan(0, 4, 1, 1)]
    assert cut_text(6, [Match(0, 4, 0), Match(2, 6, 1)]) == [LabelledSpan(0, 2, 0, 1), LabelledSpan(2, 6, 1, 1)]


LISTINGS = """# Environment
You have been invoked in the following environment:
 - Platform: linux

You are powered by a model.

The following deferred tools are now available via ToolSearch. Their schemas are NOT loaded:
WebFetch
mcp__catalog__price_of

# MCP Server Instructions

The following MCP servers have provided instructions:

## catalog
Ask it.

Available agent types for the Agent tool:
- claude: Catch-all. (Tools: *)

The following skills are available for use with the Skill tool:

- loop: Run a prompt on an interval.
- shop:price: What a thing costs.
TRIGGER: whenever it does.
- shop:stock: What is there.

Today's date is 2026-11-22."""


@pytest.mark.parametrize(
    ("text", "category", "expected"),
    [
        *(
            (systems.screen(28, spelling), "user", {"button": 28, "scrollbar": 1, "menu": 1})
            for spelling in systems.SCREENS
            if spelling not in ("lines", "numbered")
        ),
        *(
            (systems.screen(28, spelling), "user", {"screen": 1, "button": 28, "scrollbar": 1, "menu": 1})
            for spelling in ("lines", "numbered")
        ),
        ('{"elements": ["H", "He"], "menu": {"a": 1}, "scroll": 2}', "user", {}),
        (f"turn 3\n{systems.screen(10)}\n", "tool_result", {"button": 10, "scrollbar": 1, "menu": 1}),
        (systems.memory_text(), "user", {"memory text": 1}),
        (systems.feedback(15), "user", {"trial": 15, "code": 15, "metrics": 15, "reasoning": 15}),
        *(
            (systems.listed(spelling), "user", {"trial": 15, "code": 15, "metrics": 15, "reasoning": 15})
            for spelling in ("printed", "spaced", "headings", "bold")
        ),
        (systems.listed("numbered"), "user", {"trial": 15, "code": 15, "reasoning": 15}),
        (systems.listed("referenced"), "user", {"trial": 15, "code reference": 15, "metrics": 15}),
        (
            "| Rank | Trial ID | Status |\n|---|---|---|\n| 1 | trial_3_1 | valid |\n| 2 | `trial_3_0` | INVALID |",
            "user",
            {"trial": 2},
        ),
        ("Result:\n  ✓ trial_1_0: score=2.1\n  ✗ trial_1_1: overlap\n", "user", {"trial": 2}),
        (
            "trial_0_0: FAILED\n  Error: too long\n\ntrial_0_1: SUCCESS\n  Sum of radii: 2\nBest: trial_0_1",
            "user",
            {"trial": 2},
        ),
        ("The trial_0_1: it was slow.\n| a | trial |\n", "user", {}),
        (systems.asked_to_select(), "user", {"trial": 15, "reasoning": 15, "selection": 1}),
        *((text, "user", {"facts": 1}) for text in systems.HISTORIES.values()),
        *(
            ("".join(systems.prompt(2, 1, 3, spelling)), "user", {"task file": 2, "dependency": 1, "signatures": 3})
            for spelling in systems.PROMPTS
        ),
        ("## What is left (related)\nSee a.go\n- x (import)", "user", {}),
        (systems.reminder(2), "user", {"reminder": 1, "memory file": 2}),
        (f"1\tx\n\n{systems.reminder(0)}", "tool_result", {"reminder": 1}),
        (
            LISTINGS,
            "system",
            {"environment": 1, "deferred tools": 1, "mcp instructions": 1, "agents": 1, "skills": 1, "plugin skill": 2},
        ),
        (
            f"<system-reminder>\n{LISTINGS}\n</system-reminder>\nHi.",
            "user",
            {
                "reminder": 1,
                "environment": 1,
                "deferred tools": 1,
                "mcp instructions": 1,
                "agents": 1,
                "skills": 1,
                "plugin skill": 2,
            },
        ),
        ("<system-reminder>said by the model</system-reminder>", "assistant", {}),
        ("a\n<INSTRUCTIONS>\nbe kind\n</INSTRUCTIONS>", "user", {"instructions": 1}),
        ("You are Codex, a coding agent.\nBe brief.", "system", {"base instructions": 1}),
        ("You are a coding agent running in the Codex CLI.", "system", {"base instructions": 1}),
        ("You are Codexa.", "system", {}),
        ("<skills_instructions>\nnone\n</skills_instructions>", "system", {"skills": 1}),
        ("<permissions instructions>\nask\n</permissions instructions>", "system", {"permissions": 1}),
        ("<collaboration_mode>go</collaboration_mode>", "system", {"collaboration mode": 1}),
        ("<multi_agent_role>a</multi_agent_role><multi_agent_mode>b</multi_agent_mode>", "system", {"multi-agent": 2}),
        ("<environment_context>\n<cwd>/a</cwd>\n</environment_context>", "user", {"environment": 1}),
        ("a plain question", "user", {}),
        ('{"menu": {"a": 1}, "scrollbar": 2}', "user", {}),
    ],
)
def test_shipped_rules_know_these_systems(text: str, category: str, expected: dict[str, int]) -> None:
    assert labels(text, category) == expected


def test_tool_schemas_are_split_into_what_they_spend_on_words() -> None:
    tool = block.make("tool", systems.schema("create_issue", 4))
    text = searched_text(read(tool))
    pieces = SHIPPED.cut("tools", tool.body, text)
    told = {SHIPPED.rules[p.rule].label: text[p.start : p.end] for p in pieces if p.rule >= 0}
    assert set(told) == {"description", "parameters", "property description"}
    assert told["description"] == '"create_issue it."'
    assert sum(p.begins for p in pieces) == 6


def test_memory_inside_a_reminder_is_what_the_files_hold() -> None:
    text = systems.reminder(2, lines=3)
    pieces = SHIPPED.cut("user", block.text(text).body, text)
    memory = [text[p.start : p.end] for p in pieces if SHIPPED.rules[p.rule].category == "memory"]
    assert len(memory) == 2
    assert all(part.startswith("Contents of /home/me/p") and part.rstrip().endswith("keep it short") for part in memory)


def test_every_shipped_rule_is_used_and_looks_only_where_it_may() -> None:
    assert SHIPPED.idle == ()
    for rule in SHIPPED.rules:
        assert rule.needles, f"{rule.name} would look into every block"
        assert rule.within <= set(CATEGORIES)
