"""Content outside: what is taken out under a name can be had back from the original, and expanded again."""

from __future__ import annotations

from random import Random

from ctxtui.core.edit import make
from ctxtui.core.edit_kinds import EXTERNALIZE
from ctxtui.curation.apply.apply import apply
from ctxtui.curation.apply.references import expand, expand_value, externalized_content
from ctxtui.curation.policies.policy import run
from ctxtui.curation.policies.profile import make_step
from ctxtui.curation.policies.registry import POLICIES
from tests.cases.systems import feedback
from tests.curation.conversations import context_of
from tests.curation.policies.test_policies import policy_context_of
from tests.curation.shaped import SHAPES


def test_what_went_out_comes_back_as_it_was() -> None:
    body = {"model": "claude-opus-4-8", "max_tokens": 9, "messages": [{"role": "user", "content": feedback(15, 2, 60)}]}
    context, _ = context_of(body, "anthropic")
    made = run(make_step("externalize_large", POLICIES), policy_context_of(context))
    sent = apply(context, made).sent[-1].block.value()["text"]
    whole = context.reading(len(context) - 1).text
    outside = externalized_content(context, made)
    programs = {name: content for name, content in outside.items() if name.startswith("CODE_TRIAL_2_")}
    assert len(programs) == 15 and len(sent) < len(whole) / 3
    for name, content in programs.items():
        assert content in whole and f"{{{{{name}}}}}" in sent
    assert all(content in whole for content in outside.values())
    assert "radius_59" not in sent and expand(sent, outside).count("radius_59") == 15


def test_references_in_inputs() -> None:
    known = {"A": "x", "B": "y"}
    assert expand("{{REF:A}}{{REF:C}} {{REF:B}}", known) == "x{{REF:C}} y"
    assert expand_value({"a": ["{{REF:A}}", 1], "b": None}, known) == {"a": ["x", 1], "b": None}


def test_nothing_is_outside_without_such_edits() -> None:
    context, _ = context_of(SHAPES["anthropic"](Random(1)), "anthropic")
    assert externalized_content(context, []) == {}
    target = context.target(next(p for p, i in enumerate(context.items) if i.block.kind == "text"))
    assert set(externalized_content(context, [make(EXTERNALIZE, [target], {"name": "a b"})])) == {"a_b"}
