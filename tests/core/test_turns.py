"""The numbers of turns run on where a context begins anew."""

from ctxtui.core import block
from ctxtui.core.call import Call
from ctxtui.core.tree import ROOT, Node, Tree
from ctxtui.core.turns import Turns, turns_of
from tests.core.test_tree import said


def asked(text: str) -> list[block.Item]:
    return said("user", block.text(text))


def answer(text: str) -> list[block.Item]:
    return said("assistant", block.text(text))


SUMMARY = said("user", block.text("what happened before"), mark="meta")


def test_turns_run_on_through_a_compaction_that_keeps_some() -> None:
    tree = Tree()
    first = tree.extend(ROOT, [*asked("a"), *answer("1"), *asked("b")])
    grown = tree.extend(first, answer("2"))
    # In the middle of turn 2, with its prompt kept; then a turn that says what turn 1 said.
    folded = tree.extend(ROOT, [*SUMMARY, *asked("b"), *answer("3")])
    again = tree.extend(folded, asked("a"))
    # Everything is gone but the summary.
    alone = tree.extend(ROOT, SUMMARY)
    calls = [Call(str(n), "main", head, head) for n, head in enumerate([first, grown, folded, again, alone])]
    turns = turns_of(tree, calls)
    assert [turns.of_call(n) for n in range(5)] == [2, 2, 2, 3, 3]
    starts = [node for node in tree.path(again) if tree[node].opens_turn]
    assert [turns.number_of(node) for node in starts] == [2, 3] and (turns.count, turns.count_with_calls) == (3, 2)
    # What no call has brought yet has the next number, whatever is in its context.
    assert turns.number_of(tree.extend(alone, asked("and now"))) == 4 and turns.number_of(alone) == 0


def test_a_rewound_context_gives_its_next_turn_a_number_of_its_own() -> None:
    tree = Tree()
    base = tree.extend(ROOT, [*asked("a"), *answer("1")])
    one, other = tree.extend(base, asked("this way")), tree.extend(base, asked("that way"))
    calls = [Call("0", "main", one, one), Call("1", "main", other, other)]
    turns = Turns(tree)
    turns.extend(calls[:1])
    turns.extend(calls)
    assert [turns.of_call(0), turns.of_call(1)] == [2, 3] and turns.number_of(one) == 2
    turns.forget_after(1)
    turns.extend([calls[0], Call("2", "main", one, one)])
    assert turns.of_call(1) == 2 and turns.count == 3


def test_what_was_sent_under_edits_has_the_turns_of_what_the_agent_had() -> None:
    tree = Tree()
    raw = tree.extend(ROOT, [*asked("a"), *answer("1"), *asked("b")])
    sent = tree.extend(ROOT, [*answer("1"), *asked("b")])
    turns = turns_of(tree, [Call("0", "main", raw, sent)])
    assert turns.of_call(0) == 2 and turns.number_of(sent) == 2


def test_what_edits_put_in_the_place_of_words_has_the_number_of_their_turn() -> None:
    tree = Tree()
    first = tree.extend(ROOT, [*asked("a"), *answer("1"), *asked("b"), *answer("2")])
    raw = tree.extend(first, asked("c"))
    sent = tree.extend(
        ROOT,
        [*asked("a"), *answer("1"), *asked("b, in short"), *answer("2"), *asked("a note"), *answer("yes"), *asked("c")],
    )
    grown = tree.extend(raw, [*answer("3"), *asked("d")])
    left = tree.extend(sent, [*answer("3"), *asked("d")])
    calls = [Call("0", "main", first, first), Call("1", "main", raw, sent), Call("2", "main", grown, left)]
    turns = turns_of(tree, calls)
    assert [turns.of_call(n) for n in range(3)] == [2, 3, 4] and (turns.count, turns.count_with_calls) == (4, 3)
    starts = [node for node in tree.path(left) if tree[node].opens_turn]
    assert [turns.number_of(node) for node in starts] == [1, 2, 2, 3, 4]
    # Taken back, the agent's own words are what they were.
    turns.extend([*calls, Call("3", "main", grown, grown)])
    assert turns.of_call(3) == 4 and turns.count == 4


def test_a_turn_has_the_number_that_the_next_call_gives_it() -> None:
    tree = Tree()
    first = tree.extend(ROOT, [*asked("a"), *answer("1"), *asked("b"), *answer("2"), *asked("c")])
    calls = [Call("0", "main", first, first)]
    turns = turns_of(tree, calls)
    # A compaction that keeps the last message, before and after its first call.
    folded = tree.extend(ROOT, [*SUMMARY, *asked("c"), *answer("3"), *asked("d")])
    starts = [node for node in tree.path(folded) if tree[node].opens_turn]
    before = [turns.number_of(node) for node in starts]
    turns.extend([*calls, Call("1", "main", folded, folded)])
    assert before == [turns.number_of(node) for node in starts] == [3, 4] and turns.count == 4


def test_equal_messages_that_a_compaction_keeps_are_two_turns() -> None:
    tree = Tree()
    kept = [*asked("go on"), *answer("2"), *asked("go on"), *answer("3")]
    first, folded = tree.extend(ROOT, [*asked("a"), *answer("1"), *kept]), tree.extend(ROOT, [*SUMMARY, *kept])
    turns = turns_of(tree, [Call(str(n), "main", head, head) for n, head in enumerate([first, folded])])
    starts = [node for node in tree.path(folded) if tree[node].opens_turn]
    assert [turns.number_of(node) for node in starts] == [2, 3] and turns.count == 3


class Watched(Tree):
    """Counts the nodes that are looked at."""

    looked = 0

    def __getitem__(self, node: int) -> Node:
        self.looked += 1
        return super().__getitem__(node)


def test_a_turn_more_is_taken_in_without_going_through_those_before_it() -> None:
    tree, head, calls = Watched(), ROOT, []
    for number in range(400):
        head = tree.extend(head, [*asked(f"say {number}"), *answer(f"said {number}")])
        calls.append(Call(f"c{number}", "main", head, head, head))
    tree.looked = 0
    turns = turns_of(tree, calls)
    assert [turns.of_call(at) for at in range(400)] == list(range(1, 401))
    assert tree.looked < 20 * len(calls)
