"""The figures of the authors (documents 000 to 004) beside those of the searches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import mean

from examples.evolve.trials import Evolution
from examples.kit import Figure

TENTH = "ctxtui cost ID"


@dataclass(frozen=True, slots=True)
class RootCall:
    """A request of the root: its input, and what of it was read and written; tokens. `began` in seconds."""

    input: int
    read: int
    written: int
    output: int
    began: float


@dataclass(frozen=True, kw_only=True)
class Searched:
    """What came of a search: the `root`'s requests in order, `children` with what they read and wrote, USD of all of it
    by list price, the characters of each feedback and of each request to select,
    which were the root's requests `selected_at` (from 0)."""

    name: str
    session: str
    evolution: Evolution
    root: tuple[RootCall, ...]
    children: tuple[RootCall, ...]
    cost_usd: float
    root_usd: float
    feedbacks: tuple[int, ...]
    selections: tuple[int, ...]
    selected_at: tuple[int, ...]

    @property
    def hit_rate(self) -> float:
        """What the root read from the cache, of all its input."""
        return sum(one.read for one in self.root) / max(1, sum(one.input for one in self.root))

    @property
    def peak(self) -> int:
        """The root's largest request, in tokens."""
        return max((one.input for one in self.root), default=0)

    def generation_at(self, index: int) -> int:
        """The generation of the root's request at an index (from 0): each ends with a request to select."""
        return min(len(self.evolution.generations) - 1, sum(at < index for at in self.selected_at))

    @property
    def growth(self) -> float:
        """Tokens by which the root's context grows per generation."""
        first, last = self.root[0].input, self.root[-1].input
        return (last - first) / max(1, len(self.evolution.generations) - 1)


def figures(made: Mapping[str, Searched], generations: int) -> list[Figure]:
    """The table."""
    rows = [*_contexts(made), *_texts(made), *_cache(made), *_children(made), *_money(made), *_calls(made, generations)]
    return [*rows, *_search(made)]


def _k(tokens: float) -> str:
    return f"{tokens / 1000:,.1f}k"


def _contexts(made: Mapping[str, Searched]) -> Iterator[Figure]:
    theirs = {
        "old": "430k at ten generations (projected)",
        "new": "under 100k throughout",
        "pruned": "bounded near 80k",
        "stateless": "the same size however many generations",
    }
    whys = {
        "old": "programs of 4.3 to 6.9 KB here, of 5 to 10 KB there",
        "stateless": "history is a line a generation",
        "iterative": "programs are told again after each generation, and each has three calls",
    }
    for name, one in made.items():
        ours = (
            f"{_k(one.root[0].input)} to {_k(one.root[-1].input)}, peak {_k(one.peak)}, {_k(one.growth)} a generation"
        )
        yield Figure(f"root's context, {name}", theirs.get(name, ""), ours, whys.get(name, ""), "ctxtui growth ID")
    old, new = made.get("old"), made.get("new")
    if old and new:
        less = 100 - 100 * new.peak / old.peak
        yield Figure("context that the cured feedback saves", "78 % after five generations", f"{less:.0f} %, of all")
        for level, when in ((150_000, "generation 4"), (200_000, "generation 5"), (250_000, "generation 6")):
            said = {150_000: "warning above", 200_000: "a window of", 250_000: "critical above"}[level]
            at = next((n for n, call in enumerate(old.root) if call.input > level), None)
            told = f"generation {old.generation_at(at)}" if at is not None else f"not reached: {_k(old.peak)}"
            yield Figure(
                f"{said} {level // 1000}k tokens, old", when, told, "programs of 4.3 to 6.9 KB", "ctxtui growth ID"
            )


def _texts(made: Mapping[str, Searched]) -> Iterator[Figure]:
    for name in ("old", "new"):
        one = made.get(name)
        if one and one.feedbacks:
            theirs = "75,000 to 170,000 characters" if name == "old" else "under 10,000 characters"
            ours = f"{min(one.feedbacks):,} to {max(one.feedbacks):,} characters"
            yield Figure(f"a generation's feedback, {name}", theirs, ours, "", "root_llm_log.jsonl")
    old, new = made.get("old"), made.get("new")
    if old and new and old.feedbacks and new.feedbacks:
        less = 100 - 100 * mean(new.feedbacks) / mean(old.feedbacks)
        yield Figure(
            "a feedback message becomes shorter by", "85 KB -> 5 KB, 94 %", f"{less:.0f} %", "", "root_llm_log.jsonl"
        )
    if old and new and old.selections and new.selections:
        share = mean(new.selections) / mean(old.selections)
        ours = f"{mean(old.selections):,.0f} -> {mean(new.selections):,.0f} characters ({100 * share:.0f} %)"
        yield Figure("request to select as a table", "half the size", ours, "", "root_llm_log.jsonl")


def _cache(made: Mapping[str, Searched]) -> Iterator[Figure]:
    theirs = {
        "old": '0 to 5 %: "a moving marker never hits"',
        "new": "above 30 %",
    }
    whys = {
        "old": "refuted: a marker that moves reads what is unchanged; the state in the system prompt breaks it "
        "once a generation",
        "stateless": "only the static part of the system prompt is the same",
    }
    for name, one in made.items():
        yield Figure(
            f"root's input that is read from the cache, {name}",
            theirs.get(name, ""),
            f"{100 * one.hit_rate:.0f} %",
            whys.get(name, ""),
            "ctxtui cache ID",
        )


def _children(made: Mapping[str, Searched]) -> Iterator[Figure]:
    for name, one in made.items():
        if name in ("new", "at_once") and one.children:
            begun = "after the first one's answer began" if name == "new" else "all at once"
            reads = sum(call.read > 0 for call in one.children)
            writes = len(one.children) - reads
            theirs = "1 write, 14 reads a generation" if name == "new" else "15 writes a generation"
            ours = f"{writes} written, {reads} read in {len(one.evolution.generations)} generations"
            yield Figure(f"children that begin {begun}", theirs, ours, "", "ctxtui show ID --threads")


def _money(made: Mapping[str, Searched]) -> Iterator[Figure]:
    old = made.get("old")
    for name, one in made.items():
        less = f", {100 - 100 * one.root_usd / old.root_usd:.0f} % less" if old and name != "old" else ""
        theirs = {"old": "about $9", "new": "at least halved"}.get(name, "")
        why = "theirs without any cache at $3 a million" if name == "old" else ""
        ours = f"${one.root_usd:.2f}{less}; with children ${one.cost_usd:.2f}"
        yield Figure(f"the root's calls cost, {name}", theirs, ours, why, TENTH)


def _calls(made: Mapping[str, Searched], generations: int) -> Iterator[Figure]:
    for name, one in made.items():
        theirs = {"old": "N calls (003), two a generation (000)", "iterative": "up to 30 calls"}.get(name, "")
        reminders = "with a reminder where a reply has no block" if name != "stateless" else ""
        yield Figure(f"root calls of {generations} generations, {name}", theirs, f"{len(one.root)}", reminders)
    for name, one in made.items():
        seconds = [b.began - a.began for a, b in pairwise(one.root)]
        if seconds:
            yield Figure(f"seconds from root call to root call, {name}", "", f"{mean(seconds):.1f}", "offline answers")


def _search(made: Mapping[str, Searched]) -> Iterator[Figure]:
    for name, one in made.items():
        best = one.evolution.best
        trials: Sequence[object] = list(one.evolution.trials())
        ours = f"{best.score:.4f} ({best.trial_id}) of {len(trials)} trials" if best else "none"
        yield Figure(f"best sum of radii, {name}", "2.635 published", ours, "scripted programs, really run")
