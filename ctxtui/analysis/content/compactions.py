"""What compactions did to a context: what the summary kept, what it lost, what of that came back and what it cost.

What is looked for are *facts* of the context before: files that were read or changed, literals (paths, ids, numbers,
error lines, as `curation.price.dependence` finds them) and decisions: what a person said is to be done, and sentences
in which the model says what it chose or found.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Final

from msgspec import Struct

from ctxtui.analysis.book import Book
from ctxtui.analysis.figures import CallFigures, figures
from ctxtui.analysis.money.block_costs import ThreadCosts
from ctxtui.core.block import HEADER
from ctxtui.core.block_content import read
from ctxtui.core.call import COMPACTED, Call, EpochStart, answer_nodes_in, answer_path
from ctxtui.core.category import INDEX
from ctxtui.core.file_accesses import READ, Touch, find_touches
from ctxtui.core.tree import Node, Tree
from ctxtui.curation.price.dependence import literals_of
from ctxtui.curation.record_summary import CHOSE

FILE, LITERAL, DECISION = "file", "literal", "decision"
KINDS: Final = (FILE, LITERAL, DECISION)
"""What facts are, in the order in which they are told."""
READ_AGAIN, SAID_AGAIN, USED_AGAIN, CAME_AGAIN = "read again", "said again", "used again", "in a result again"
"""How a fact comes back: its file is read, a person says it, the model gives it to a tool or says it, a result has
it."""

MOST: Final = 200
"""Literals that are listed for a compaction; how many there were is counted."""
_SAME: Final = 0.6
"""The share of a sentence's telling words from which on another text says it, too."""
_PROSE: Final = 0.94
"""The share of a sentence's characters that are letters and plain punctuation, at least."""
_LEAST_WORDS: Final = 4
"""Telling words of a sentence, at least."""
_PASTED: Final = 4000
"""Characters of a message in which a person's own words are looked for; what follows was pasted."""

_USER, _ASSISTANT, _SUMMARY = INDEX["user"], INDEX["assistant"], INDEX["summary"]
_CALL, _RESULT = INDEX["tool_call"], INDEX["tool_result"]
_BASE: Final = frozenset({INDEX["system"], INDEX["tools"], INDEX["memory"], _SUMMARY})
_SENTENCE: Final = re.compile(r"[^.!?\n]{12,300}(?:[.!?](?=\s|$)|$)", re.MULTILINE)
_WORD: Final = re.compile(r"[^\W\d_]{4,}")
_COMMON: Final = frozenset(
    "that this with from have will would could should they them then than what when where which there here your just "
    "like into also some more over only been being were does doing done make made want need very much about after "
    "before because still these those their please okay sure".split()
)


class Again(Struct, frozen=True):
    """A fact came back: `how`, in call `call` (from 1), with the block of `node`. Where a file was read again for it,
    that block and its call have `tokens` and have cost `usd` since (None: not known)."""

    how: str
    call: int
    node: int
    tokens: int = 0
    usd: float | None = None


class Fact(Struct, frozen=True, kw_only=True):
    """Something of the context before a compaction: it stood in `times` blocks, last in that of `node`. `kept` says
    that the summary, or a block that was kept, has it; `again` how it came back before the next compaction."""

    kind: str
    text: str
    node: int
    times: int
    kept: bool
    again: tuple[Again, ...] = ()


class Compaction(Struct, frozen=True, kw_only=True):
    """A compaction before call `number` (from 1) of `thread`: `kind` as `EpochStart` says, `trigger` ``auto``,
    ``manual`` or "". `before` and `after` are the figures of the calls around it, `summary` the new blocks that stand
    for the history (nodes), with their `summary_tokens`, `kept` the blocks that stayed word for word, `replaced` those
    that went. `sealed`: the summary is encrypted, so that nobody but the provider knows what it says. `literals` is how
    many different ones there were, and how many of them were kept: `facts` lists the first `MOST` that were lost."""

    thread: str
    number: int
    kind: str
    trigger: str
    at: float | None
    before: CallFigures
    after: CallFigures
    summary: tuple[int, ...]
    summary_tokens: int
    kept: tuple[int, ...]
    kept_tokens: int
    replaced: int
    sealed: bool
    facts: tuple[Fact, ...]
    literals: tuple[int, int]

    def of(self, kind: str) -> list[Fact]:
        """The facts of a kind."""
        return [one for one in self.facts if one.kind == kind]

    def lost(self, kind: str) -> int:
        """How many facts of a kind were lost."""
        if kind == LITERAL:
            return self.literals[0] - self.literals[1]
        return sum(not one.kept for one in self.of(kind))

    def total(self, kind: str) -> int:
        """How many facts of a kind there were."""
        return self.literals[0] if kind == LITERAL else len(self.of(kind))

    @property
    def brought_back(self) -> list[Again]:
        """What was brought back for the sake of a fact, each block once."""
        found = {again.node: again for fact in self.facts for again in fact.again if again.tokens}
        return sorted(found.values(), key=lambda again: (again.call, again.node))

    @property
    def again_tokens(self) -> int:
        """Tokens of what was brought back."""
        return sum(again.tokens for again in self.brought_back)

    @property
    def again_usd(self) -> float | None:
        """What was brought back has cost so many USD since; None where no price is known."""
        known = [again.usd for again in self.brought_back if again.usd is not None]
        return sum(known) if known or not self.brought_back else None


Usd = Callable[[int, int], float | None]
"""What a block has cost since it entered, in USD, by its node and its tokens; None where that is not known."""


def is_compaction(before: Call, call: Call) -> bool:
    """Whether a client put a summary in the place of its history between two calls."""
    return call.epoch.number != before.epoch.number and call.epoch.start == EpochStart.COMPACTION


def compactions(book: Book, thread: str, usd: Usd) -> list[Compaction]:
    """The compactions of `thread`, in order; everything in `book` must be counted."""
    calls = book.session.thread_calls(thread)
    places = [n for n in range(1, len(calls)) if is_compaction(calls[n - 1], calls[n])]
    ends = pairwise([*places, len(calls)]) if places else ()
    return [_Found(book, calls, at, end, usd).compaction(thread) for at, end in ends]


def compactions_of(book: Book, costs: ThreadCosts) -> list[Compaction]:
    """The compactions of a thread, with what it has cost to its end."""
    return compactions(book, costs.thread, lambda node, tokens: costs.ledger.block(node, tokens, len(costs.calls)))


class _Found:
    """What there is to find of the compaction before `calls[at]`, up to the next one before `calls[end]`."""

    def __init__(self, book: Book, calls: Sequence[Call], at: int, end: int, usd: Usd) -> None:
        self._book, self._calls, self._at, self._end, self._usd = book, calls, at, end, usd
        self._tree, self._cwd = book.session.tree, book.session.about.cwd
        self._model = calls[at].model
        last, first = calls[at - 1], calls[at]
        self._old = self._blocks([*self._tree.path(last.sent_head), *answer_path(self._tree, last)])
        digests = {self._tree[node].block.digest for node in self._old}
        now = self._blocks(self._tree.path(first.sent_head))
        fresh = [node for node in now if self._tree[node].block.digest not in digests]
        self._kept = [node for node in now if self._tree[node].block.digest in digests]
        told = [n for n, node in enumerate(fresh) if self._tree[node].category in _BASE]
        # What follows the summary came after the compaction: a person's next words, as a rule.
        self._base = fresh[: told[-1] + 1] if told else fresh
        self._later = [(at + 1, node) for node in fresh[len(self._base) :]]
        self._later += self._after()

    def compaction(self, thread: str) -> Compaction:
        """All of it."""
        call, before = self._calls[self._at], self._calls[self._at - 1]
        held = [*self._base, *self._kept]
        text = "\n".join(self._said(node) for node in held)
        known = frozenset[str]().union(*(self._literals(node) for node in held))
        files, decisions = self._files(text), self._decisions(text)
        literals, counts = self._lost_literals(known, text, {fact.text for fact in files})
        told = call.extra.get(COMPACTED)
        trigger = told.get("trigger") if isinstance(told, dict) else ""
        summary = [node for node in self._base if self._tree[node].category == _SUMMARY] or self._base
        return Compaction(
            thread=thread,
            number=self._at + 1,
            kind=str(call.epoch.start),
            trigger=trigger if isinstance(trigger, str) else "",
            at=call.started,
            before=figures(self._book, before),
            after=figures(self._book, call),
            summary=tuple(summary),
            summary_tokens=sum(map(self._own, summary)),
            kept=tuple(self._kept),
            kept_tokens=sum(map(self._own, self._kept)),
            replaced=len(self._old) - len(self._kept),
            sealed=bool(summary) and not any(self._said(node).strip() for node in summary),
            facts=(*files, *decisions, *literals),
            literals=counts,
        )

    # What there is

    def _blocks(self, path: Iterable[int]) -> list[int]:
        return [node for node in path if self._tree[node].block.kind != HEADER]

    def _after(self) -> Iterator[tuple[int, int]]:
        """(number of the call that brought it, node) of every block that came after, up to the next compaction."""
        tree, before, seen = self._tree, self._calls[self._at], set[int]()
        for index in range(self._at, self._end):
            call = self._calls[index]
            # The answer of the call before came with that.
            seen.update(answer_nodes_in(tree, before, call.sent_head))
            for node in tree.path(call.sent_head, tree.common(before.sent_head, call.sent_head)):
                if node not in seen and tree[node].block.kind != HEADER:
                    seen.add(node)
                    yield index + 1, node
            for node in self._blocks(answer_path(tree, call)):
                seen.add(node)
                yield index + 1, node
            before = call

    def _own(self, node: int) -> int:
        return self._book.own(self._model, node)

    def _said(self, node: int) -> str:
        got = read(self._tree[node].block)
        return f"{got.text}\n{got.arguments}" if got.arguments else got.text

    def _literals(self, node: int) -> frozenset[str]:
        return literals_of(self._tree[node].block)

    # Files

    def _files(self, text: str) -> list[Fact]:
        found: dict[str, list[int]] = {}
        for node in self._old:
            if self._tree[node].category == _CALL:
                for touch in find_touches(read(self._tree[node].block), self._cwd):
                    found.setdefault(touch.path, []).append(node)
        back = self._read_again(found)
        names = [path.rpartition("/")[2] for path in found]
        return [
            Fact(
                kind=FILE,
                text=path,
                node=nodes[-1],
                times=len(nodes),
                kept=path in text or (names.count(path.rpartition("/")[2]) == 1 and _named(path, text)),
                again=tuple(back.get(path, ())),
            )
            for path, nodes in found.items()
        ]

    def _read_again(self, known: Container[str]) -> dict[str, list[Again]]:
        """The readings of `known` files that brought lines which no reading since the compaction had brought; a file
        that was changed since is read for another reason."""
        back: dict[str, list[Again]] = {}
        had: dict[str, list[Touch]] = {}
        answers = self._answers()
        for number, node in self._later:
            if self._tree[node].category != _CALL:
                continue
            got = read(self._tree[node].block)
            for touch in find_touches(got, self._cwd):
                before = had.setdefault(touch.path, [])
                new = touch.kind == READ and not any(one.kind != READ or one.covers(touch) for one in before)
                before.append(touch)
                if new and touch.path in known:
                    again = self._brought(number, node, answers.get(got.call_id))
                    back.setdefault(touch.path, []).append(again)
        return back

    def _answers(self) -> dict[str, int]:
        """The results that came after, by the id of their call."""
        found = {}
        for _, node in self._later:
            here = self._tree[node]
            if here.category == _RESULT:
                found[read(here.block).call_id or self._book.names.answered(here)] = node
        return found

    def _brought(self, number: int, node: int, answer: int | None) -> Again:
        nodes = [node] if answer is None else [node, answer]
        sizes = [self._own(one) for one in nodes]
        paid = [self._usd(one, size) for one, size in zip(nodes, sizes, strict=True)]
        known = [one for one in paid if one is not None]
        return Again(READ_AGAIN, number, nodes[-1], sum(sizes), sum(known) if known else None)

    # Decisions

    def _decisions(self, text: str) -> list[Fact]:
        held = frozenset(_WORD.findall(text.lower()))
        found: dict[str, tuple[frozenset[str], list[int]]] = {}
        for node in self._old:
            for sentence in self._sentences(self._tree[node]):
                words = _telling(sentence)
                if len(words) >= _LEAST_WORDS:
                    found.setdefault(sentence, (words, []))[1].append(node)
        later = [
            (number, node, frozenset(_WORD.findall(sentence.lower())))
            for number, node in self._later
            if _asks(self._tree[node])
            for sentence in self._sentences(self._tree[node])
        ]
        out = []
        for sentence, (words, nodes) in found.items():
            kept = _says(held, words)
            said = {node: Again(SAID_AGAIN, number, node) for number, node, told in later if _says(told, words)}
            again = tuple(said.values())
            out.append(Fact(kind=DECISION, text=sentence, node=nodes[-1], times=len(nodes), kept=kept, again=again))
        return out

    def _sentences(self, node: Node) -> Iterator[str]:
        if _asks(node):
            yield from (one for one in _sentences(read(node.block).text[:_PASTED]) if _prose(one))
        elif node.category == _ASSISTANT:
            yield from (one for one in _sentences(read(node.block).text) if CHOSE.search(one) and _prose(one))

    # Literals

    def _lost_literals(self, known: frozenset[str], text: str, files: set[str]) -> tuple[list[Fact], tuple[int, int]]:
        found: dict[str, list[int]] = {}
        for node in self._old:
            for literal in self._literals(node):
                if literal not in files:
                    found.setdefault(literal, []).append(node)
        gone = {literal: nodes for literal, nodes in found.items() if literal not in known and literal not in text}
        back: dict[str, Again] = {}
        for number, node in self._later:
            for literal in self._literals(node) & gone.keys() - back.keys():
                back[literal] = Again(self._how(self._tree[node]), number, node)
        # What the model or a person had to say again counts for more than what a result happened to have.
        rank = {SAID_AGAIN: 0, USED_AGAIN: 1, CAME_AGAIN: 2}
        order = sorted(
            gone, key=lambda one: (rank[back[one].how] if one in back else 3, -len(gone[one]), gone[one][0], one)
        )
        facts = [
            Fact(
                kind=LITERAL,
                text=literal,
                node=gone[literal][-1],
                times=len(gone[literal]),
                kept=False,
                again=(back[literal],) if literal in back else (),
            )
            for literal in order[:MOST]
        ]
        return facts, (len(found), len(found) - len(gone))

    def _how(self, node: Node) -> str:
        return CAME_AGAIN if node.category == _RESULT else SAID_AGAIN if _asks(node) else USED_AGAIN


def _asks(node: Node) -> bool:
    return node.category == _USER and node.place.mark != "meta"


def _named(path: str, text: str) -> bool:
    """Whether a text has a file's bare name, as a word of its own."""
    name = path.rpartition("/")[2]
    return len(name) > 3 and re.search(rf"(?<![\w.-]){re.escape(name)}(?![\w-])", text) is not None


def _sentences(text: str) -> Iterator[str]:
    return (" ".join(found[0].strip(" \t-*#>").split()) for found in _SENTENCE.finditer(text))


def _prose(sentence: str) -> bool:
    """Whether a line is somebody's words: not a log's, a path's or a program's."""
    plain = sum(char.isalpha() or char in " ,'-." for char in sentence)
    return sentence[:1].isalpha() and " " in sentence and plain >= _PROSE * len(sentence)


def _telling(sentence: str) -> frozenset[str]:
    return frozenset(_WORD.findall(sentence.lower())) - _COMMON


def _says(held: frozenset[str], words: frozenset[str]) -> bool:
    return len(words & held) >= _SAME * len(words)


_FILES, _DECISIONS, _LITERALS = 40, 30, 40
"""How many of each are added at most."""
_SPELLED: Final = frozenset({SAID_AGAIN, USED_AGAIN})


def better_summary(tree: Tree, one: Compaction, otherwise: str) -> str:
    """The words of the compaction's summary with the files and decisions that it lost and the literals that somebody
    had to say again. `otherwise` is said where the client's is
    encrypted."""
    said = "\n\n".join(text for node in one.summary if (text := read(tree[node].block).text.strip()))
    parts = [said or otherwise]
    files, decisions, literals = _lost(one, FILE), _lost(one, DECISION), _lost(one, LITERAL)
    if files or decisions or literals:
        parts.append("[What the summary above left out]")
    if files:
        parts.append(f"- files: {'; '.join(fact.text for fact in files[:_FILES])}")
    parts += [f"- said: {fact.text}" for fact in decisions[:_DECISIONS]]
    spelled = [fact.text for fact in literals if fact.again and fact.again[0].how in _SPELLED]
    if spelled:
        parts.append(f"- spelled out: {'; '.join(spelled[:_LITERALS])}")
    return "\n".join(parts)


def _lost(one: Compaction, kind: str) -> list[Fact]:
    """What was lost of a kind, what came back first."""
    return _first_again(fact for fact in one.of(kind) if not fact.kept)


def _first_again(facts: Iterable[Fact]) -> list[Fact]:
    return sorted(facts, key=lambda fact: not fact.again)
