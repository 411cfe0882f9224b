"""Spellings that a recording brings: damaged in any place they are refused, or built from, or said not to fit."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ctxtui.core import canonical
from ctxtui.core.call import Skeleton
from ctxtui.core.errors import Malformed
from ctxtui.wire import registry
from ctxtui.wire.codec.check_skeleton import check_skeleton
from ctxtui.wire.grammar import GRAMMARS
from ctxtui.wire.request import Request
from ctxtui.wire.translate.encode import export_request
from tests.transcripts.reading import ODD, changed, places

MARK = {"type": "ephemeral"}
BODIES: dict[str, Any] = {
    "anthropic": {
        "model": "m",
        "system": [{"type": "text", "text": "s", "cache_control": MARK}],
        "tools": [{"name": "t", "input_schema": {}}],
        "messages": [
            {"role": "user", "content": "hi"},
            {"role": "assistant", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
            {"content": [{"type": "text", "text": "c", "cache_control": MARK}], "role": "user"},
        ],
    },
    "openai_chat": {"messages": [{"role": "system", "content": "s"}, {"content": "hi", "role": "user"}], "model": "m"},
    "openai_responses": {"model": "m", "instructions": "be kind", "input": "hi"},
}
STRANGE = (*ODD, "", "x", "}", -1, 99, "\ud800", ["", "", "", None], [0, -1, "cache_control", 0, {}])


def spelled(dialect: str, indent: int | None) -> Request:
    # A key between elements and another spacing there: nothing that one style gives back.
    text = json.dumps(BODIES[dialect], indent=indent).replace('{"role": "user"', '{  "role":"user"', 1)
    return registry.DIALECTS[dialect].decode_request(text.encode(), None)


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("dialect", BODIES)
def test_a_damaged_spelling_is_refused_or_builds_or_says_why_not(dialect: str, indent: int | None) -> None:
    whole = spelled(dialect, indent)
    parts = {"carried": [0, 0], **whole.skeleton.parts}
    check_skeleton(parts, GRAMMARS[dialect], len(whole.items))
    refused = built = 0
    for place in places(parts):
        for odd in STRANGE:
            damaged = changed(parts, place, odd)
            try:
                check_skeleton(damaged, GRAMMARS[dialect], len(whole.items))
            except (ValueError, TypeError, LookupError, AttributeError):
                refused += 1
                continue
            request = Request(whole.items, Skeleton(dialect, damaged))
            assert all(0 <= marker.item < len(whole.items) for marker in request.markers), place
            assert isinstance(request.params, dict)
            try:
                registry.encode(request)
                registry.encode(request.with_items(whole.items[:-1]))
                built += 1
                body, _ = export_request(dialect, whole.items, request.skeleton, model="m")
                assert isinstance(json.loads(body.decode("utf-8", "replace"), strict=False), dict), place
            except Malformed as error:
                assert "damaged" in error.way_out
    assert refused > 20 and built > 20


def test_a_frame_that_is_no_object_is_no_skeleton_s() -> None:
    parts = spelled("anthropic", None).skeleton.parts
    *members, last = parts["frame"]
    for frame in ([*members, ""], [*members, last + "}"], [["[", *members[0][1:]], *members[1:], "]"]):
        with pytest.raises(ValueError, match=r"object|Expecting|Extra"):
            check_skeleton({**parts, "frame": frame}, GRAMMARS["anthropic"], 9)


def test_a_marker_beyond_the_context_and_a_section_of_another_dialect_are_no_skeleton_s() -> None:
    whole = spelled("anthropic", None)
    parts = whole.skeleton.parts
    check_skeleton(parts, GRAMMARS["anthropic"], len(whole.items))
    with pytest.raises(ValueError, match="a block of the context"):
        check_skeleton(parts, GRAMMARS["anthropic"], 2)
    with pytest.raises(ValueError, match="or be a section"):
        check_skeleton(parts, GRAMMARS["openai_responses"], len(whole.items))
    assert canonical.loads(canonical.dumps(parts)) == parts
