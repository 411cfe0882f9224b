"""The figures of the authors (documents 000 to 004) beside those of the searches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from statistics import mean

from examples.evolve.trials import Evolution
from examples.kit import Figure

GROWTH = "ctxtui growth ID"
BLOCKS = "ctxtui show ID --blocks"


@dataclass(frozen=True, slots=True)
class RootCall:
    """A request of the root: its input, and what of it was read and written; tokens."""

    input: int
    read: int
    written: int
    output: int


@dataclass(frozen=True, kw_only=True)
class Searched:
    """What came of a search: the `root`'s requests in order, `children` with what they read and wrote, USD of all of it
    by list price, the characters of each feedback; requests to select were
    the root's requests `selected_at` (from 0)."""

    name: str
    session: str
    evolution: Evolution
    root: tuple[RootCall, ...]
    children: tuple[RootCall, ...]
    cost_usd: float
    root_usd: float
    feedbacks: tuple[int, ...]
    selected_at: tuple[int, ...]
    summaries: tuple[str, ...] = ()
    """Summaries of older generations in the root's last request."""

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


def figures(made: Mapping[str, Searched]) -> list[Figure]:
    """The table. Children that begin at once are told of, not what else comes of one generation."""
    whole = {name: one for name, one in made.items() if name != "at_once" or len(made) == 1}
    rows = [*_contexts(whole), *_texts(whole), *_cache(whole), *_children(made), *_money(whole), *_calls(whole)]
    return [*rows, *_search(whole)]


def _k(tokens: float) -> str:
    return f"{tokens / 1000:,.1f}k"


PROGRAMS = "programs of 4.3 to 6.9 KB here, of 5 to 10 KB there"


def _contexts(made: Mapping[str, Searched]) -> Iterator[Figure]:
    theirs = {
        "old": "430k at ten generations (projected)",
        "new": "under 100k throughout",
        "pruned": "bounded near 80k",
        "stateless": "the same size however many generations",
    }
    whys = {
        "old": PROGRAMS,
        "stateless": "history is a line a generation",
        "iterative": "programs are told again after each generation, and each has three calls",
    }
    names = {
        "old": "§1 trouble, 000 §2.4",
        "new": "§1 (a), validation, 000 §9.2",
        "pruned": "§1 (b), 000 §7.2",
        "stateless": "§1 (f), 000 §7.6",
        "iterative": "N9, 003",
    }
    for name, one in made.items():
        ours = (
            f"{_k(one.root[0].input)} to {_k(one.root[-1].input)}, peak {_k(one.peak)}, {_k(one.growth)} a generation"
        )
        yield Figure(
            f"root's context, {name}", theirs.get(name, ""), ours, whys.get(name, ""), GROWTH, names.get(name, ""), name
        )
    old, new = made.get("old"), made.get("new")
    if old and new:
        less = 100 - 100 * new.peak / old.peak
        yield Figure(
            "context that the cured feedback saves in ten generations",
            "78 % after five",
            f"{less:.0f} %",
            "",
            GROWTH,
            "§1 (a), 000 §7.1",
            "new",
        )
        for level, when in ((150_000, "generation 4"), (200_000, "generation 5"), (250_000, "generation 6")):
            said = {150_000: "warning above", 200_000: "a window of", 250_000: "critical above"}[level]
            at = next((n for n, call in enumerate(old.root) if call.input > level), None)
            told = f"generation {old.generation_at(at)}" if at is not None else f"not reached: {_k(old.peak)}"
            names_ = "§1 trouble" if level == 200_000 else "§1 (e), N6, 000 §7.5"
            yield Figure(f"{said} {level // 1000}k tokens, old", when, told, PROGRAMS, GROWTH, names_, "old")


def _texts(made: Mapping[str, Searched]) -> Iterator[Figure]:
    for name in ("old", "new"):
        one = made.get(name)
        if one and one.feedbacks:
            theirs = "75,000 to 170,000 characters" if name == "old" else "under 10,000 characters"
            ours = f"{min(one.feedbacks):,} to {max(one.feedbacks):,} characters"
            names = "§1 trouble, 000 §5.1" if name == "old" else "§1 validation, 000 §9.1"
            why = PROGRAMS if name == "old" else ""
            yield Figure(f"a generation's feedback, {name}", theirs, ours, why, BLOCKS, names, name)
    old, new = made.get("old"), made.get("new")
    if old and new and old.feedbacks and new.feedbacks:
        less = 100 - 100 * mean(new.feedbacks) / mean(old.feedbacks)
        claim = "a feedback message becomes shorter by"
        yield Figure(claim, "85 KB -> 5 KB, 94 %", f"{less:.0f} %", "", BLOCKS, "§1 (a), 000 §7.1", "new")
    pruned = made.get("pruned")
    if pruned and pruned.summaries:
        text = pruned.summaries[-1]
        ours = f"{len(pruned.summaries)} message of {len(text):,} characters, {text.count('selected: ')} generations"
        theirs = "one message: trials, best score and id, top three, selected ids"
        yield Figure("older generations, pruned", theirs, ours, "", BLOCKS, "§1 (b), N4, 000 §6.2, §7.2", "pruned")


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
    names = {"old": "§1 (c), 000 §4.2", "new": "§1 validation, 000 §9.2", "iterative": "N9, 003"}
    for name, one in made.items():
        yield Figure(
            f"root's input that is read from the cache, {name}",
            theirs.get(name, ""),
            f"{100 * one.hit_rate:.0f} %",
            whys.get(name, ""),
            "ctxtui cache ID",
            names.get(name, "§1 (c)"),
            name,
        )


def _children(made: Mapping[str, Searched]) -> Iterator[Figure]:
    for name, one in made.items():
        if name in ("new", "at_once") and one.children:
            begun = "after the first one's answer began" if name == "new" else "all at once"
            reads = sum(call.read > 0 for call in one.children)
            writes = len(one.children) - reads
            theirs = "1 write, 14 reads a generation" if name == "new" else "15 writes a generation"
            ours = f"{writes} written, {reads} read in {len(one.evolution.generations)} generations"
            why = "an entry stands for five minutes, and no generation takes that long here" if name == "new" else ""
            claim, names = f"children that begin {begun}", "§1 (c), N12, 000 §4.1.3"
            yield Figure(claim, theirs, ours, why, "ctxtui show ID --threads", names, name)


def _money(made: Mapping[str, Searched]) -> Iterator[Figure]:
    old = made.get("old")
    for name, one in made.items():
        less = f", {100 - 100 * one.root_usd / old.root_usd:.0f} % less" if old and name != "old" else ""
        theirs = {"old": "about $9"}.get(name, "")
        why = "theirs without any cache at $3 a million" if name == "old" else ""
        names = {"old": "§1 (g), 000 appendix C", "iterative": "N9, 003"}.get(name, "§1 (g)")
        claim = f"the root's calls cost, {name}"
        yield Figure(claim, theirs, f"${one.root_usd:.2f}{less}", why, "ctxtui cost ID", names, name)
        less = f", {100 - 100 * one.cost_usd / old.cost_usd:.0f} % less" if old and name != "old" else ""
        theirs = "total cost at least halved" if name == "new" else ""
        children = one.cost_usd - one.root_usd
        why = f"${children:.2f} of it are the children's, which no cure of the root touches" if name == "new" else ""
        names = "§1 validation, 000 §9.2" if name == "new" else names
        claim = f"root and children cost, {name}"
        yield Figure(claim, theirs, f"${one.cost_usd:.2f}{less}", why, "ctxtui cost ID", names, name)


def _calls(made: Mapping[str, Searched]) -> Iterator[Figure]:
    for name, one in made.items():
        theirs = {"old": "N calls (003), two a generation (000)", "iterative": "up to 30 calls"}.get(name, "")
        reminders = "with a reminder where a reply has no block" if name not in ("stateless", "at_once") else ""
        claim = f"root calls of {len(one.evolution.generations)} generations, {name}"
        names = "N9, 003" if name == "iterative" else "§1 loop, N7, 003"
        yield Figure(claim, theirs, f"{len(one.root)}", reminders, "ctxtui show ID --threads", names, name)


def _search(made: Mapping[str, Searched]) -> Iterator[Figure]:
    for name, one in made.items():
        built = [trial for trial in one.evolution.trials() if trial.parent_id is not None]
        if built and name in ("new", "stateless"):
            left = sum("{{CODE_TRIAL" in trial.prompt for trial in built)
            claim = f"tokens in the prompts of children, {name}"
            ours = f"{len(built)} prompts build on a program, {left} with a token left"
            yield Figure(claim, "expanded", ours, "", "ctxtui show ID --threads", "§1 (a), N7, 000 §3.3", name)
