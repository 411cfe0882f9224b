"""Our figures beside the claims of the authors (``claims.md``): of their log, of the searches, of their cures of the
cache."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import mean

from ctxtui.api import Usage, open_session
from examples.evolve.caching import LAYOUTS, Sent, request_file, simulated, summaries_in
from examples.evolve.search import Search
from examples.kit import Figure, Ours, asked, claims

HERE = Path(__file__).resolve().parent
LOG = str(HERE.parents[1] / "sessions/1-pineapple-evolve.jsonl")
"""The authors' log: every size as document 000 measured it (2.1)."""
USD = 3e-6
"""Of an input token, as the authors reckon."""
FEEDBACK = 10_000
"""Characters from which a message of the log is a feedback."""
LEVELS = {
    150_000: "warning above 150k tokens, old",
    200_000: "a window of 200k tokens, old",
    250_000: "critical above 250k tokens, old",
}


@dataclass(frozen=True, kw_only=True)
class Searched:
    """What a search left: its `session`, the usage of the root's calls and of its children's, USD by list price, misses
    (all, and those that the state in the system prompt caused), the root's requests (`sent`)."""

    session: str
    search: Search
    root: list[Usage]
    children: list[Usage]
    usd: float
    root_usd: float
    misses: int
    state_misses: int
    sent: list[Sent]

    @property
    def generations(self) -> int:
        """Generations that were searched."""
        return len(self.search.evolution.generations)

    def generation_at(self, index: int) -> int:
        """The generation of the root's request at an index (from 0): each ends with a request to select."""
        return min(self.generations - 1, sum(at < index for at in self.search.selected_at))


def read(session: str, search: Search, sent: list[Sent], folder: Path) -> Searched:
    """Read a search's session back."""
    with open_session(session, cwd=folder) as opened:
        threads = opened.recording.threads.items()
        # Where generations stand alone, each of the root's calls has a thread of its own.
        alone = [id_ for id_, thread in threads if thread.label.startswith("generation ")]
        totals, misses = opened.totals, opened.misses.misses
        calls = [call for call in opened.recording.calls.values() if call.usage]
        paid = [call.cost_usd or 0.0 for id_ in alone for call in opened.calls(id_)]
    root = alone or ["main"]
    return Searched(
        session=session,
        search=search,
        root=[call.usage for call in calls if call.usage and call.thread in root],
        children=[call.usage for call in calls if call.usage and call.thread not in root],
        usd=totals.total.usd or 0.0,
        root_usd=sum(paid) if alone else totals.main.usd or 0.0,
        misses=len(misses),
        state_misses=sum(miss.cause == "system changed" for miss in misses),
        sent=sent,
    )


def figures(made: Mapping[str, Searched], folder: Path) -> list[Figure]:
    """The rows that the searches, and commands on the authors' log, have a figure for. Raises `Failed`."""
    ours: dict[str, Ours] = {**recorded(folder)}
    old, new = made.get("old"), made.get("new")
    for name, one in made.items():
        if name != "at_once":
            ours |= searched(name, one, old)
    if new:
        why = "an entry stands for five minutes, and no generation takes that long here"
        ours["children that begin after the first one's answer began"] = children(new), why
    if "at_once" in made:
        ours["children that begin all at once"] = children(made["at_once"])
    if old and new and new.search.feedbacks:
        peaks = [max(call.input for call in one.root) for one in (old, new)]
        ours["context that the cured feedback saves in ten generations"] = f"{100 - 100 * peaks[1] / peaks[0]:.0f} %"
        shorter = mean(map(len, new.search.feedbacks)) / mean(map(len, old.search.feedbacks))
        ours["a feedback message becomes shorter by"] = f"{100 - 100 * shorter:.0f} %"
    if old:
        ours |= uncached(old, folder)
    return claims(HERE / "claims.md", ours | dict(layouts(made, folder)))


def recorded(folder: Path) -> dict[str, Ours]:
    """What commands say of the authors' log."""
    shown = asked("show", LOG, "--blocks", cwd=folder)
    messages = [block for block in shown["blocks"] if block["category"] in ("user", "assistant")][1:]
    sizes = [block["span"][1] for block in messages]
    feedbacks = [block for block in messages if block["span"][1] > FEEDBACK and block["category"] == "user"]
    labels = {row["label"]: row for row in shown["labels"] if row["category"] == "user"}
    inputs = [call["context_tokens"] for call in shown["growth"]]
    tokens = sum(block["tokens"] for block in feedbacks)
    phases = asked("growth", LOG, "--phase-rule", r"Generation \d+", cwd=folder)["phases"][2:]
    cured = asked("curate", LOG, "--policy", "externalize_large", cwd=folder)
    contents = [message["content"] for message in cured["request"]["messages"]]
    texts = [one if isinstance(one, str) else "".join(block.get("text", "") for block in one) for one in contents]
    large = feedbacks[0]["span"][1]
    small = next(len(text) for text in texts if text.startswith("Generation 0 complete") and "{{CODE" in text)
    before, after = cured["tokens"]["before"], cured["tokens"]["after"]
    lab = asked("lab", LOG, "--policy", "summarize_every k=2 levels=2", "--cache", "recorded", cwd=folder)
    plain, levels = lab["sessions"][0]["variants"]
    return {
        "sizes of the messages of five generations": f"{len(sizes)} messages, {sizes[0]:,} to {sizes[-1]:,} "
        f"characters, {sum(sizes):,} in all",
        "context after each feedback": " ".join(f"{one['running_tokens'] / 1000:.0f}k" for one in feedbacks),
        "growth a generation, as printed": " ".join(f"{one['growth'] / 1000:.1f}k" for one in phases),
        "labels in messages without a fence": ", ".join(
            f"{labels[name]['count'] if name in labels else 0} {name}"
            for name in ("trial", "code", "metrics", "reasoning")
        ),
        "programs' share of a feedback": f"{100 * labels['code']['tokens'] / tokens:.0f} %",
        "feedback of generation 0 with tokens in place of programs": f"{large:,} -> {small:,} characters, "
        f"{100 - 100 * small / large:.0f} % less",
        "context after five generations with tokens": f"{_k(before)} -> {_k(after)}, "
        f"{100 - 100 * after / before:.0f} % less",
        "summaries of summaries, by levels": f"peak {plain['peak_context'] / 1000:.0f}k -> "
        f"{levels['peak_context'] / 1000:.0f}k, ${plain['cost_usd']:.2f} -> ${levels['cost_usd']:.2f}",
        "input of the calls with feedback 0 and 4, no cache": (
            f"{inputs[2]:,}, {inputs[-1]:,}",
            f"at $3 a million ${inputs[2] * USD:.3f} and ${inputs[-1] * USD:.2f}, {inputs[-1] / inputs[2]:.1f} times",
        ),
    }


def searched(name: str, one: Searched, old: Searched | None) -> dict[str, Ours]:
    """What came of a search; savings are beside the search `old`."""
    inputs = [call.input for call in one.root]
    first, last = inputs[0], inputs[-1]
    cache_read = sum(call.cache_read for call in one.root)
    steps = (last - first) / max(1, one.generations - 1)
    root_less = f", {100 - 100 * one.root_usd / old.root_usd:.0f} % less" if old and old is not one else ""
    less = f", {100 - 100 * one.usd / old.usd:.0f} % less" if old and old is not one else ""
    cost = f"${one.usd:.2f}{less}"
    why = f"${one.usd - one.root_usd:.2f} of it are the children's, which no cure of the root touches"
    ours: dict[str, Ours] = {
        f"root's context, {name}": f"{_k(first)} to {_k(last)}, peak {_k(max(inputs))}, {_k(steps)} a generation",
        f"root's input that is read from the cache, {name}": f"{100 * cache_read / sum(inputs):.0f} %",
        f"the root's calls cost, {name}": f"${one.root_usd:.2f}{root_less}",
        f"root and children cost, {name}": (cost, why) if name == "new" else cost,
        f"root calls of all generations, {name}": f"{len(inputs)}",
    }
    if name in ("old", "new") and one.search.feedbacks:
        calls = [*one.root, *one.children]
        written = sum(call.cache_write for call in calls)
        ratio = (
            f"{sum(call.cache_read for call in calls) / written:.1f} with children" if written else "nothing written"
        )
        sizes = [len(text) for text in one.search.feedbacks]
        ours |= {
            f"misses that the state in the system prompt causes, {name}": f"{one.state_misses} of {one.misses} "
            f"misses in {len(inputs)} calls",
            f"read for each token that is written, {name}": ratio,
            f"a generation's feedback, {name}": f"{min(sizes):,} to {max(sizes):,} characters",
        }
    if name == "pruned" and (summaries := [*summaries_in(one.sent[-1])]):
        ours["older generations, pruned"] = (
            f"{len(summaries)} message of {len(summaries[-1]):,} characters, "
            f"{summaries[-1].count('selected: ')} generations"
        )
    built = [trial for trial in one.search.evolution.trials() if trial.parent_id is not None]
    if built and name in ("new", "stateless"):
        left = sum("{{CODE_TRIAL" in trial.prompt for trial in built)
        ours[f"tokens in the prompts of children, {name}"] = (
            f"{len(built)} prompts build on a program, {left} with a token left"
        )
    return ours


def children(one: Searched) -> str:
    """How many children wrote the cache, and how many read it."""
    reads = sum(call.cache_read > 0 for call in one.children)
    return f"{len(one.children) - reads} written, {reads} read in {one.generations} generations"


def uncached(old: Searched, folder: Path) -> dict[str, Ours]:
    """The authors' levels and their reckoning without a cache (appendix C), and the folder that the search wrote."""
    inputs = [call.input for call in old.root]
    total = sum(inputs) * USD
    ours: dict[str, Ours] = {}
    for level, claim in LEVELS.items():
        at = next((n for n, tokens in enumerate(inputs) if tokens > level), None)
        ours[claim] = f"not reached: {_k(max(inputs))}" if at is None else f"generation {old.generation_at(at)}"
    threads = asked("show", str(folder / "old" / "experiment"), "--threads", cwd=folder)["threads"]
    return ours | {
        "last call of ten generations, no cache": (f"{inputs[-1]:,}", f"at $3 a million ${inputs[-1] * USD:.2f}"),
        "input of ten generations of the root, no cache": (f"{sum(inputs):,}", f"at $3 a million ${total:.2f}"),
        "80 % of it cached would save": f"${0.8 * 0.9 * total:.2f} of ${total:.2f}",
        "the experiment's folder opens as one session": f"root and {len(threads) - 1} trials",
    }


def layouts(made: Mapping[str, Searched], folder: Path, generations: int = 5) -> Iterator[tuple[str, str]]:
    """For each layout of the cache's markers: the share of the input that is read, and its USD at the authors' price.
    Of as many generations as the authors had measured."""
    for name, how in (("old", "alone"), ("new", "with 7.1")):
        if name not in made:
            continue
        one = made[name]
        sent = [each for n, each in enumerate(one.sent) if one.generation_at(n) < generations]
        files = {layout: request_file(folder, name, layout, sent) for layout in LAYOUTS}
        found = simulated(files, folder)
        base = found["moving marker"].usd
        for layout, cached in found.items():
            more = "" if layout == "moving marker" else f", {100 * cached.usd / base - 100:+.0f} %"
            yield f"{layout}, {name} ({how})", f"{100 * cached.share:.1f} % read, ${cached.usd:.2f} of input{more}"


def _k(tokens: float) -> str:
    return f"{tokens / 1000:,.1f}k"
