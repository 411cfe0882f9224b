"""Effects of compactions: facts that a summary kept or lost, and the cost of recovery.

*Facts* of the previous context are files that were read or changed, literals (paths, ids, numbers, error lines) and
decisions: instructions of a person, and sentences in which the model states a choice or a finding. A fact is
*recovered* if it comes back later.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Final

import msgspec
from msgspec import Struct

from ctxtui.analysis.book import Book
from ctxtui.analysis.figures import CallFigures, figures
from ctxtui.analysis.money.block_costs import ThreadCosts
from ctxtui.core.block import HEADER
from ctxtui.core.block import text as text_block
from ctxtui.core.block_content import read
from ctxtui.core.call import COMPACTED, COMPACTS, Call, EpochStart, answer_nodes_in, answer_path
from ctxtui.core.category import INDEX
from ctxtui.core.file_accesses import READ, Touch, find_touches
from ctxtui.core.tree import Node, Tree
from ctxtui.curation.price.dependence import literals_of
from ctxtui.curation.record_summary import DECISION_WORDS
from ctxtui.tokens.weights import weigh

FILE, LITERAL, DECISION = "file", "literal", "decision"
KINDS: Final = (FILE, LITERAL, DECISION)
"""Kinds of facts, in the order in which they are shown."""
READ_AGAIN, SAID_AGAIN, USED_AGAIN, CAME_AGAIN = "read again", "said again", "used again", "in a result again"
"""A fact's file is read, a person repeats it, the model writes it, a tool's result has it."""

MAX_LITERALS: Final = 200
"""Maximum number of lost literals listed for a compaction."""
_MIN_COMMON_SHARE: Final = 0.6
"""Share of a sentence's significant words that another text must have to say the same."""
_MIN_PROSE_SHARE: Final = 0.94
"""Share of letters and plain punctuation in a sentence."""
_MIN_WORDS: Final = 4
"""Significant words in a sentence."""
_MAX_PERSON_CHARACTERS: Final = 4000
"""Characters of a message that are searched for a person's own words; the rest is considered pasted."""

_USER, _ASSISTANT, _SUMMARY = INDEX["user"], INDEX["assistant"], INDEX["summary"]
_FRONT: Final = frozenset({INDEX["system"], INDEX["tools"], INDEX["memory"]})
_CALL, _RESULT = INDEX["tool_call"], INDEX["tool_result"]
_MODELS: Final = frozenset({_ASSISTANT, _CALL, INDEX["thinking"]})
_BASE: Final = _FRONT | {_SUMMARY}
"""Categories that are no part of the history that a compaction replaces."""
_SENTENCE: Final = re.compile(r"[^.!?\n]{12,300}(?:[.!?](?=\s|$)|$)", re.MULTILINE)
"""A sentence: 12 to 300 characters up to a period or the end of a line."""
_WORD: Final = re.compile(r"[^\W\d_]{4,}")
_COMMON: Final = frozenset(
    "that this with from have will would could should they them then than what when where which there here your just "
    "like into also some more over only been being were does doing done make made want need very much about after "
    "before because still these those their please okay sure".split()
)


class Recovery(Struct, frozen=True):
    """Recovery of a fact: `how` it came back, in call `call` (from 1), with the block of `node`.

    For a file: `tokens` of the tool call and its result, and what they have cost since (`usd`; None: unknown).
    """

    how: str
    call: int
    node: int
    tokens: int = 0
    usd: float | None = None


class Fact(Struct, frozen=True, kw_only=True):
    """A fact in the context before a compaction.

    It was found `times` times, last in the block of `node`. `is_kept`: the summary, or a block that stayed, has it.
    `recoveries`: before the next compaction; of a literal only the first.
    """

    kind: str
    text: str
    node: int
    times: int
    is_kept: bool
    recoveries: tuple[Recovery, ...] = ()


class Compaction(Struct, frozen=True, kw_only=True):
    """A compaction before call `number` (from 1) of `thread`.

    - `trigger`: as recorded (``auto``, ``manual`` ...; "": not recorded).
    - `at`: start of the call after it (Unix seconds; None: not recorded).
    - `before`, `after`: the figures of the calls around it.
    - `summary`: nodes of the summary (if none is marked, of the new blocks), with `summary_tokens`.
    - `kept_nodes`: nodes of blocks that stayed verbatim, with `kept_tokens`; `replaced`: number of removed blocks.
    - `sealed`: the summary is encrypted, so that only the provider can read it.
    - `facts`: all files and decisions, and at most `MAX_LITERALS` lost literals.
    - `literals`: number of different literals, and of those kept.
    - `is_held`: a preview: the client does not have the summary yet, and `after` is an estimate.
    """

    thread: str
    number: int
    trigger: str
    at: float | None
    before: CallFigures
    after: CallFigures
    summary: tuple[int, ...]
    summary_tokens: int
    kept_nodes: tuple[int, ...]
    kept_tokens: int
    replaced: int
    sealed: bool
    facts: tuple[Fact, ...]
    literals: tuple[int, int]
    is_held: bool = False

    def facts_of(self, kind: str) -> list[Fact]:
        return [fact for fact in self.facts if fact.kind == kind]

    def count_lost(self, kind: str) -> int:
        if kind == LITERAL:
            return self.literals[0] - self.literals[1]
        return sum(not fact.is_kept for fact in self.facts_of(kind))

    def count_facts(self, kind: str) -> int:
        return self.literals[0] if kind == LITERAL else len(self.facts_of(kind))

    @property
    def brought_back(self) -> list[Recovery]:
        """Recoveries of files, once for each block, in the order of their calls."""
        by_node = {recovery.node: recovery for fact in self.facts for recovery in fact.recoveries if recovery.tokens}
        return sorted(by_node.values(), key=lambda recovery: (recovery.call, recovery.node))

    @property
    def again_tokens(self) -> int:
        return sum(recovery.tokens for recovery in self.brought_back)

    @property
    def again_usd(self) -> float | None:
        """USD spent on files that were read again, up to the end of the thread.

        0 without recoveries, None if no price is known.
        """
        amounts = [recovery.usd for recovery in self.brought_back if recovery.usd is not None]
        return sum(amounts) if amounts or not self.brought_back else None


Usd = Callable[[int, int], float | None]
"""Cost of a block since it was added, in USD, by its node and tokens; None if unknown."""


def is_compaction(before: Call, call: Call) -> bool:
    return call.epoch.number != before.epoch.number and call.epoch.start == EpochStart.COMPACTION


def find_compactions(book: Book, thread: str, usd: Usd) -> list[Compaction]:
    """The compactions of `thread` with their effects; `usd` prices what was read again."""
    calls = book.session.thread_calls(thread)
    places = [n for n in range(1, len(calls)) if is_compaction(calls[n - 1], calls[n])]
    ends = pairwise([*places, len(calls)]) if places else ()
    return [_CompactionAnalysis(book, calls, at, end, usd).compaction(thread) for at, end in ends]


def preview_compaction(book: Book, thread: str, summary: str, request: int | None = None) -> Compaction | None:
    """The compaction if `summary` replaces the messages at the end of `thread`.

    None without a call. `request`: the node at which the request for the summary ends (its last block is the
    instruction); None: it is not sent yet. Everything in `book` must be counted.
    """
    calls = book.session.thread_calls(thread)
    if not calls:
        return None
    analysis = _CompactionAnalysis(book, calls, len(calls), len(calls), lambda node, tokens: None, request)
    return analysis.preview(thread, summary)


def thread_compactions(book: Book, costs: ThreadCosts) -> list[Compaction]:
    """The compactions of the thread whose `costs` are known, with their effects."""
    return find_compactions(
        book, costs.thread, lambda node, tokens: costs.ledger.block_usd(node, tokens, len(costs.calls))
    )


class _CompactionAnalysis:
    def __init__(
        self, book: Book, calls: Sequence[Call], at: int, end: int, usd: Usd, request: int | None = None
    ) -> None:
        self._book, self._calls, self._at, self._end, self._usd = book, calls, at, end, usd
        self._tree, self._cwd = book.session.tree, book.session.about.cwd
        # The request for the summary is not part of the history, and its answer is the summary.
        self._last = next((call for call in reversed(calls[:at]) if COMPACTS not in call.extra), calls[at - 1])
        self._model = calls[at].model if at < len(calls) else self._last.model
        self._old = self._without_headers(self._nodes_before(request))
        digests = {self._tree[node].block.digest for node in self._old}
        if at < len(calls):
            now = self._without_headers(self._tree.path(calls[at].sent_head))
        else:
            now = [node for node in self._old if self._tree[node].category in _FRONT]  # what the client sends again
        fresh = [node for node in now if self._tree[node].block.digest not in digests]
        self._kept = [node for node in now if self._tree[node].block.digest in digests]
        resent_base = [n for n, node in enumerate(fresh) if self._tree[node].category in _BASE]
        # Blocks after the summary were added after the compaction, usually a person's next message.
        self._base = fresh[: resent_base[-1] + 1] if resent_base else fresh
        self._later = [(at + 1, node) for node in fresh[len(self._base) :]]
        self._later += self._later_blocks() if at < len(calls) else ()

    def _nodes_before(self, request: int | None) -> list[int]:
        if request is not None:
            return [*self._tree.path(request)][:-1]
        return [*self._tree.path(self._last.sent_head), *answer_path(self._tree, self._last)]

    def preview(self, thread: str, summary: str) -> Compaction:
        block = text_block(summary)
        text = "\n".join([*(self._block_text(node) for node in self._kept), summary])
        facts, counts = self._find_facts(
            text, literals_of(block).union(*(self._literals_of(node) for node in self._kept))
        )
        before = figures(self._book, self._last)
        tokens = round(weigh(self._book.measure(self._model)(block), self._book.weights(self._model)))
        front = {name: count for name, count in before.categories.items() if INDEX[name] in _FRONT}
        size = sum(front.values()) + (before.not_recorded or 0) + tokens
        after = msgspec.structs.replace(
            before, context_tokens=size, method="guessed", lo=size, hi=size, residual=0, reported=None, attached=0
        )
        return Compaction(
            thread=thread,
            number=self._at + 1,
            trigger="",
            at=None,
            before=before,
            after=msgspec.structs.replace(after, categories={**front, "summary": tokens}),
            summary=(),
            summary_tokens=tokens,
            kept_nodes=tuple(self._kept),
            kept_tokens=sum(map(self._block_tokens, self._kept)),
            replaced=len(self._old) - len(self._kept),
            sealed=False,
            facts=facts,
            literals=counts,
            is_held=True,
        )

    def _find_facts(self, text: str, kept_literals: frozenset[str]) -> tuple[tuple[Fact, ...], tuple[int, int]]:
        files, decisions = self._find_files(text), self._find_decisions(text)
        literals, counts = self._find_literals(kept_literals, text, {fact.text for fact in files})
        return (*files, *decisions, *literals), counts

    def compaction(self, thread: str) -> Compaction:
        call, before = self._calls[self._at], self._last
        remaining = [*self._base, *self._kept]
        text = "\n".join(self._block_text(node) for node in remaining)
        facts, counts = self._find_facts(text, frozenset[str]().union(*(self._literals_of(node) for node in remaining)))
        recorded = call.extra.get(COMPACTED)
        trigger = recorded.get("trigger") if isinstance(recorded, dict) else ""
        summary = [node for node in self._base if self._tree[node].category == _SUMMARY] or self._base
        return Compaction(
            thread=thread,
            number=self._at + 1,
            trigger=trigger if isinstance(trigger, str) else "",
            at=call.started,
            before=figures(self._book, before),
            after=figures(self._book, call),
            summary=tuple(summary),
            summary_tokens=sum(map(self._block_tokens, summary)),
            kept_nodes=tuple(self._kept),
            kept_tokens=sum(map(self._block_tokens, self._kept)),
            replaced=len(self._old) - len(self._kept),
            sealed=bool(summary) and not any(self._block_text(node).strip() for node in summary),
            facts=facts,
            literals=counts,
        )

    def _without_headers(self, path: Iterable[int]) -> list[int]:
        return [node for node in path if self._tree[node].block.kind != HEADER]

    def _later_blocks(self) -> Iterator[tuple[int, int]]:
        """Yield (number of the call that added it, node) for every block up to the next compaction."""
        tree, before, visited = self._tree, self._calls[self._at], set[int]()
        for index in range(self._at, self._end):
            call = self._calls[index]
            # The previous call's answer was added with that call.
            visited.update(answer_nodes_in(tree, before, call.sent_head))
            for node in tree.path(call.sent_head, tree.common(before.sent_head, call.sent_head)):
                if node not in visited and tree[node].block.kind != HEADER:
                    visited.add(node)
                    yield index + 1, node
            for node in self._without_headers(answer_path(tree, call)):
                visited.add(node)
                yield index + 1, node
            before = call

    def _block_tokens(self, node: int) -> int:
        return self._book.block_tokens(self._model, node)

    def _block_text(self, node: int) -> str:
        content = read(self._tree[node].block)
        return f"{content.text}\n{content.arguments}" if content.arguments else content.text

    def _literals_of(self, node: int) -> frozenset[str]:
        return literals_of(self._tree[node].block)

    # Files

    def _find_files(self, text: str) -> list[Fact]:
        nodes_by_path: dict[str, list[int]] = {}
        for node in self._old:
            if self._tree[node].category == _CALL:
                for touch in find_touches(read(self._tree[node].block), self._cwd):
                    nodes_by_path.setdefault(touch.path, []).append(node)
        recoveries = self._find_rereads(nodes_by_path)
        names = [path.rpartition("/")[2] for path in nodes_by_path]
        return [
            Fact(
                kind=FILE,
                text=path,
                node=nodes[-1],
                times=len(nodes),
                is_kept=path in text or (names.count(path.rpartition("/")[2]) == 1 and _has_file_name(path, text)),
                recoveries=tuple(recoveries.get(path, ())),
            )
            for path, nodes in nodes_by_path.items()
        ]

    def _find_rereads(self, files: Container[str]) -> dict[str, list[Recovery]]:
        """Reads of lines of `files` that were neither read nor changed since the compaction."""
        recoveries: dict[str, list[Recovery]] = {}
        touches: dict[str, list[Touch]] = {}
        answers = self._results_by_call()
        for number, node in self._later:
            if self._tree[node].category != _CALL:
                continue
            content = read(self._tree[node].block)
            for touch in find_touches(content, self._cwd):
                before = touches.setdefault(touch.path, [])
                new = touch.kind == READ and not any(
                    earlier.kind != READ or earlier.covers(touch) for earlier in before
                )
                before.append(touch)
                if new and touch.path in files:
                    recovery = self._make_recovery(number, node, answers.get(node))
                    recoveries.setdefault(touch.path, []).append(recovery)
        return recoveries

    def _results_by_call(self) -> dict[int | None, int]:
        results: dict[int | None, int] = {}
        for _, node in self._later:
            result = self._tree[node]
            if result.category == _RESULT:
                results[self._book.names.call_of_result(result)] = node
        return results

    def _make_recovery(self, number: int, node: int, answer: int | None) -> Recovery:
        nodes = [node] if answer is None else [node, answer]
        sizes = [self._block_tokens(n) for n in nodes]
        amounts = [usd for n, size in zip(nodes, sizes, strict=True) if (usd := self._usd(n, size)) is not None]
        return Recovery(READ_AGAIN, number, nodes[-1], sum(sizes), sum(amounts) if amounts else None)

    # Decisions

    def _find_decisions(self, text: str) -> list[Fact]:
        present = frozenset(_WORD.findall(text.lower()))
        sentences: dict[str, tuple[frozenset[str], list[int]]] = {}
        for node in self._old:
            for sentence in self._sentences(self._tree[node]):
                words = _significant_words(sentence)
                if len(words) >= _MIN_WORDS:
                    sentences.setdefault(sentence, (words, []))[1].append(node)
        later = [
            (number, node, frozenset(_WORD.findall(sentence.lower())))
            for number, node in self._later
            if _is_from_person(self._tree[node])
            for sentence in self._sentences(self._tree[node])
        ]
        decisions = []
        for sentence, (words, nodes) in sentences.items():
            repeated = {
                node: Recovery(SAID_AGAIN, number, node)
                for number, node, later_words in later
                if _has_words(later_words, words)
            }
            decisions.append(
                Fact(
                    kind=DECISION,
                    text=sentence,
                    node=nodes[-1],
                    times=len(nodes),
                    is_kept=_has_words(present, words),
                    recoveries=tuple(repeated.values()),
                )
            )
        return decisions

    def _sentences(self, node: Node) -> Iterator[str]:
        if _is_from_person(node):
            yield from filter(_is_prose, _sentences(read(node.block).text[:_MAX_PERSON_CHARACTERS]))
        elif node.category == _ASSISTANT:
            yield from (s for s in _sentences(read(node.block).text) if DECISION_WORDS.search(s) and _is_prose(s))

    # Literals

    def _find_literals(
        self, kept_literals: frozenset[str], text: str, files: set[str]
    ) -> tuple[list[Fact], tuple[int, int]]:
        by_literal: dict[str, list[int]] = {}
        for node in self._old:
            for literal in self._literals_of(node):
                if literal not in files:
                    by_literal.setdefault(literal, []).append(node)
        lost = {
            literal: nodes
            for literal, nodes in by_literal.items()
            if literal not in kept_literals and literal not in text
        }
        recoveries: dict[str, Recovery] = {}
        for number, node in self._later:
            if how := _recovery_kind(self._tree[node]):
                for literal in self._literals_of(node) & lost.keys() - recoveries.keys():
                    recoveries[literal] = Recovery(how, number, node)
        # Literals that the model or a person had to repeat rank above those that only occur in a result.
        rank = {SAID_AGAIN: 0, USED_AGAIN: 1, CAME_AGAIN: 2}
        order = sorted(
            lost,
            key=lambda key: (rank[recoveries[key].how] if key in recoveries else 3, -len(lost[key]), lost[key][0], key),
        )
        facts = [
            Fact(
                kind=LITERAL,
                text=literal,
                node=lost[literal][-1],
                times=len(lost[literal]),
                is_kept=False,
                recoveries=(recoveries[literal],) if literal in recoveries else (),
            )
            for literal in order[:MAX_LITERALS]
        ]
        return facts, (len(by_literal), len(by_literal) - len(lost))


def _recovery_kind(node: Node) -> str:
    if node.category == _RESULT:
        return CAME_AGAIN
    return SAID_AGAIN if _is_from_person(node) else USED_AGAIN if node.category in _MODELS else ""


def _is_from_person(node: Node) -> bool:
    return node.category == _USER and node.place.mark != "meta"


def _has_file_name(path: str, text: str) -> bool:
    name = path.rpartition("/")[2]
    return len(name) > 3 and re.search(rf"(?<![\w.-]){re.escape(name)}(?![\w-])", text) is not None


def _sentences(text: str) -> Iterator[str]:
    return (" ".join(match[0].strip(" \t-*#>").split()) for match in _SENTENCE.finditer(text))


def _is_prose(sentence: str) -> bool:
    plain = sum(char.isalpha() or char in " ,'-." for char in sentence)
    return sentence[:1].isalpha() and " " in sentence and plain >= _MIN_PROSE_SHARE * len(sentence)


def _significant_words(sentence: str) -> frozenset[str]:
    return frozenset(_WORD.findall(sentence.lower())) - _COMMON


def _has_words(present: frozenset[str], words: frozenset[str]) -> bool:
    return len(words & present) >= _MIN_COMMON_SHARE * len(words)


_MAX_FILES, _MAX_DECISIONS, _MAX_REPEATED, _MAX_NAMED_LITERALS = 40, 30, 40, 40
_SPELLED: Final = frozenset({SAID_AGAIN, USED_AGAIN})
"""Recoveries of literals that a person or the model had to write again."""


def name_facts(compaction: Compaction) -> str:
    """Instructions for a summary to keep the facts that `compaction` loses.

    "" if there are none. Literals are named only if several blocks have them.
    """
    files = [fact.text for fact in _lost_facts(compaction, FILE)][-_MAX_FILES:]
    decisions = [fact.text for fact in _lost_facts(compaction, DECISION)][-_MAX_DECISIONS:]
    literals = sorted(
        (fact for fact in _lost_facts(compaction, LITERAL) if fact.times > 1), key=lambda fact: -fact.times
    )
    lines = [f"- file: {text}" for text in files] + [f"- said: {text}" for text in decisions]
    lines += [f"- literal: {fact.text}" for fact in literals[:_MAX_NAMED_LITERALS]]
    return "\n".join(["Name each of these in the summary, word for word:", *lines]) if lines else ""


_LEFT_OUT: Final = "[What the summary above left out]"
_KEPT_AS: Final = {FILE: "- file: ", DECISION: "- said: ", LITERAL: "- literal: "}


def keep_fact(summary: str, fact: Fact) -> str:
    """Append `fact` to the text of a summary, under a heading for lost facts."""
    heading = [] if _LEFT_OUT in summary else [_LEFT_OUT]
    return "\n".join([summary, *heading, f"{_KEPT_AS[fact.kind]}{fact.text}"])


def improve_summary(tree: Tree, compaction: Compaction, otherwise: str) -> str:
    """The summary's text, followed by the facts that it lost.

    These are files, decisions, and those literals that a person or the model had to write again. `otherwise` is the
    text of a summary that has none.
    """
    texts = [text for node in compaction.summary if (text := read(tree[node].block).text.strip())]
    parts = ["\n\n".join(texts) or otherwise]
    files, decisions = _lost_facts(compaction, FILE), _lost_facts(compaction, DECISION)
    literals = _lost_facts(compaction, LITERAL)
    spelled = [fact.text for fact in literals if fact.recoveries and fact.recoveries[0].how in _SPELLED]
    if (files or decisions or spelled) and _LEFT_OUT not in parts[0]:
        parts.append(_LEFT_OUT)
    if files:
        parts.append(f"- files: {'; '.join(fact.text for fact in files[:_MAX_FILES])}")
    parts += [f"- said: {fact.text}" for fact in decisions[:_MAX_DECISIONS]]
    if spelled:
        parts.append(f"- spelled out: {'; '.join(spelled[:_MAX_REPEATED])}")
    return "\n".join(parts)


def _lost_facts(compaction: Compaction, kind: str) -> list[Fact]:
    lost = [fact for fact in compaction.facts_of(kind) if not fact.is_kept]
    return sorted(lost, key=lambda fact: not fact.recoveries)
