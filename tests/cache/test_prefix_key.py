"""Keys of prefixes are the same however they are made, and name section, role and every block before."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxtui.cache import prefix_key
from ctxtui.cache.prefix_key import PrefixEnd, PrefixKeys, PromptFacts
from ctxtui.cache.prefix_salt import PrefixSalt
from ctxtui.core import block
from ctxtui.core.block import Block, Place
from ctxtui.core.tree import ROOT, Tree
from ctxtui.wire.grammar import ANTHROPIC, CHAT, RESPONSES

PLACES = (Place("tools"), Place("system"), *(Place("messages", role) for role in ("user", "assistant", "\ud800")))
BLOCKS = (
    block.text("a"),
    block.text("b"),
    block.header("user"),
    block.make("tool_use", {"type": "tool_use", "id": "t1", "name": "read", "input": {}}),
    block.make("tool_result", {"type": "tool_result", "tool_use_id": "t1", "content": "found"}),
    block.make("thinking", {"type": "thinking", "thinking": "hm", "signature": "s"}),
    block.make("web_search_tool_result", {"type": "web_search_tool_result", "tool_use_id": "t2", "content": []}),
)
contexts = st.lists(st.tuples(st.sampled_from(BLOCKS), st.sampled_from(PLACES)), min_size=1, max_size=20).map(
    lambda items: sorted(items, key=lambda item: PLACES.index(item[1]) if item[1].section != "messages" else 2)
)
dialects = st.sampled_from([ANTHROPIC, CHAT, RESPONSES])


def keys(tree: Tree, dialect: str) -> PrefixKeys:
    return PrefixKeys(tree, PrefixSalt(dialect, b"t" * 16, b"s" * 16, b"m" * 16), PromptFacts(tree), strips=False)


def ends(made: PrefixKeys, heads: list[int]) -> list[tuple[object, ...]]:
    return [_plain(made.position_at(head, head)) for head in heads]


def _plain(end: PrefixEnd) -> tuple[object, ...]:
    return end.key, end.node, end.number, end.section, end.role, end.opens_message, end.is_server_result


def grown(items: list[tuple[Block, Place]]) -> tuple[Tree, list[int]]:
    tree, heads = Tree(), [ROOT]
    for one, place in items:
        heads.append(tree.child(heads[-1], one, place))
    return tree, heads


@given(contexts, dialects)
def test_the_loop_over_many_blocks_gives_what_the_general_way_gives(
    items: list[tuple[Block, Place]], dialect: str
) -> None:
    tree, heads = grown(items)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(prefix_key, "_USUAL", frozenset())
        general = ends(keys(tree, dialect), heads)
    assert ends(keys(tree, dialect), heads) == general


@given(contexts, dialects)
def test_keys_made_at_once_are_those_made_block_by_block(items: list[tuple[Block, Place]], dialect: str) -> None:
    tree, heads = grown(items)
    assert ends(keys(tree, dialect), heads[::-1])[::-1] == ends(keys(tree, dialect), heads)


@pytest.mark.parametrize("dialect", [ANTHROPIC, CHAT])
def test_a_key_names_section_role_and_every_block_before(dialect: str) -> None:
    said, user, assistant = block.text("a"), Place("messages", "user"), Place("messages", "assistant")
    contexts = [
        [(said, user)],
        [(said, assistant)],
        [(said, Place("system"))],
        [(block.text("b"), user)],
        [(said, user), (said, user)],
        [(said, user), (said, assistant)],
        [(said, assistant), (said, user)],
    ]
    found = set()
    for items in contexts:
        tree, heads = grown(items)
        found.add(keys(tree, dialect).position_at(heads[-1], heads[-1]).key)
    assert len(found) == len(contexts) and {len(key) for key in found} == {16}


def test_what_a_reader_knows_of_a_place_is_in_no_key() -> None:
    said = block.text("a")
    marked = [grown([(said, Place("messages", "user", mark))]) for mark in ("", "meta", "summary")]
    assert len({keys(tree, ANTHROPIC).position_at(heads[-1], heads[-1]).key for tree, heads in marked}) == 1
