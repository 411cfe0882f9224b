"""The search: what the root says is done, generation by generation, and told back to it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ctxtui.api import ChildResult, ChildTask, HeadlessRun
from examples.evolve import repl, texts
from examples.evolve.packing import Evaluator
from examples.evolve.trials import Evolution, Trial
from examples.kit import Failed

REMINDERS = 3
"""How often the root is reminded of what its reply lacks."""
_PROGRAM = re.compile(r"^```(?:python|py)?[ \t]*\n(.*?)^```[ \t]*$", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True, kw_only=True)
class Flow:
    """How the root is told what came of a generation. `tokens`: references in place of programs, a table where it
    selects. `alone`: every request stands by itself. `calls`: the root is called so often in a generation and ends it
    itself (0: once, and it ends by itself). `after_first`: children begin when the first one's answer does."""

    tokens: bool = True
    alone: bool = False
    calls: int = 0
    after_first: bool = True


class Search:
    """Runs a search of so many `generations` of at most so many `children`. `log` is the experiment's folder."""

    def __init__(
        self,
        run: HeadlessRun,
        flow: Flow,
        evaluator: Evaluator,
        log: Path,
        *,
        name: str,
        generations: int,
        children: int,
    ) -> None:
        self._run = run
        self.flow = flow
        self._evaluator = evaluator
        self._log = log
        self._name = name
        self._most = generations
        self._children = children
        self._unconfined = evaluator.unconfined
        self._advanced = False
        self._turn = 0
        self.evolution = Evolution()
        self.calls = 0
        """Requests of the root."""
        self.feedbacks: list[str] = []
        """Characters of each request for a selection."""
        self.selected_at: list[int] = []
        """Which of the root's requests these were, from 0."""

    async def go(self) -> Evolution:
        """Search until the last generation is over, or the root ends it. Raises `Failed`."""
        told = self._opening()
        while True:
            told = await (self._iterated(told) if self.flow.calls else self._generation(told))
            last = self.evolution.now.number + 1 >= self._most
            if self.evolution.ended or last:
                return self.evolution
            self.evolution.advance()
            self._advanced = False

    # One generation

    async def _generation(self, told: str) -> str:
        """One spawning reply and one selection; what the next generation begins with."""
        now = self.evolution.now.number
        output = await self._spawned(told)
        if self.evolution.ended or not self.evolution.now.trials:
            return ""
        await self._selected(output)
        if now + 1 >= self._most:
            return ""
        if self.flow.alone:
            return ""
        feedback = texts.feedback if self.flow.tokens else texts.full_feedback
        self.feedbacks.append(feedback(self.evolution.now))
        return self.feedbacks[-1]

    async def _iterated(self, told: str) -> str:
        """Document 003's loop: several replies, until the root advances."""
        now = self.evolution.now.number
        output = ""
        for step in range(self.flow.calls):
            words = f"Call {step + 1} of generation {now}."
            begin = told if not step else texts.result(output)
            output = await self._block(f"{begin}\n\n{words}".strip(), words)
            if self._advanced or self.evolution.ended:
                break
        self.feedbacks.append(texts.full_feedback(self.evolution.now))
        return f"{texts.result(output)}\n\n{self.feedbacks[-1]}"

    async def _spawned(self, told: str) -> str:
        """The root's block of this generation, run; what it printed. It does not end before a child was spawned."""
        now = self.evolution.now.number
        words = told or texts.alone(self.evolution, self._children)
        for _ in range(REMINDERS):
            output = await self._block(words, words)
            if self.evolution.now.trials or self.evolution.ended:
                return output
            words = f"{texts.result(output)}\n\n{texts.no_children(now)} {texts.no_block(0, now)}"
        raise Failed(f"generation {now}: the root spawned no children in {REMINDERS} replies")

    async def _block(self, words: str, again: str) -> str:
        """Ask the root, and run the one block of its reply."""
        now = self.evolution.now.number
        reply = await self._ask(words)
        for _ in range(REMINDERS):
            found = repl.blocks(reply)
            if len(found) == 1:
                break
            reminder = texts.no_block(len(found), now)
            reply = await self._ask(f"{again}\n\n{reminder}" if self.flow.alone or self.flow.calls else reminder)
        else:
            raise Failed(f"generation {now}: no reply of the root had exactly one `repl` block")
        ran = await repl.run(found[0], self._functions(), unconfined=self._unconfined)
        self._logged("system", "Executed code block", code=found[0], result=ran.output)
        return ran.output

    async def _selected(self, output: str) -> None:
        """Let the root select; what is wrong with its reply is told to it."""
        one = self.evolution.now
        if self.flow.alone:
            words = texts.selection_alone(self.evolution)
        else:
            request = texts.selection_table if self.flow.tokens else texts.selection_request
            self.selected_at.append(self.calls)
            words = f"{texts.result(output)}\n\n{request(one)}"
        reply = await self._ask(words)
        for _ in range(REMINDERS):
            try:
                one.selected_trial_ids, one.summary = texts.selected(reply, one.trials)
                return
            except ValueError as error:
                reply = await self._ask(f"{error}. {texts.selection_table(one)}")
        raise Failed(f"generation {one.number}: the root selected nothing in {REMINDERS} replies")

    # What the root's block may call

    def _functions(self) -> dict[str, tuple[tuple[str, ...], repl.Function]]:
        found: dict[str, tuple[tuple[str, ...], repl.Function]] = {
            "spawn_children_parallel": (("children",), self._spawn_all),
            "spawn_child_llm": (("prompt", "parent_id"), self._spawn_one),
            "evaluate_program": (("code",), self._evaluate),
            "terminate_evolution": (("reason", "best_program"), self._terminate),
        }
        if self.flow.calls:
            found["advance_generation"] = ((), self._advance)
        return found

    async def _spawn_all(self, given: Mapping[str, Any]) -> list[dict[str, Any]]:
        children = given.get("children")
        if not isinstance(children, list) or not children:
            raise ValueError('children is a list of {"prompt": "...", "parent_id": "..."}')
        if any(not isinstance(one, dict) or not str(one.get("prompt") or "").strip() for one in children):
            raise ValueError("every child has a prompt")
        return [trial.told for trial in await self._spawn(children)]

    async def _spawn_one(self, given: Mapping[str, Any]) -> dict[str, Any]:
        if not str(given.get("prompt") or "").strip():
            raise ValueError("the child's prompt is empty")
        (trial,) = await self._spawn([given])
        return trial.told

    async def _evaluate(self, given: Mapping[str, Any]) -> dict[str, Any]:
        ((metrics, error),) = await self._evaluator.evaluate([self.evolution.expanded(str(given.get("code") or ""))])
        return {**metrics, "error": error or None}

    async def _terminate(self, given: Mapping[str, Any]) -> str:
        self.evolution.ended = str(given.get("reason") or "the root ended it")
        self.evolution.best_program = self.evolution.expanded(str(given.get("best_program") or ""))
        return "the search ends with this generation"

    async def _advance(self, given: Mapping[str, Any]) -> dict[str, Any]:
        now = self.evolution.now
        if not now.trials:
            raise ValueError("no children were spawned in this generation")
        self._advanced = True
        return {"generation": now.number + 1, "best_score": now.best_score, "best_trial_id": now.best_trial_id}

    async def _spawn(self, wanted: list[Mapping[str, Any]]) -> list[Trial]:
        """Let children write programs, at once, and have them judged."""
        now = self.evolution.now
        if len(now.trials) + len(wanted) > self._children:
            raise ValueError(f"at most {self._children} children in a generation; there are {len(now.trials)} already")
        made = []
        for number, one in enumerate(wanted, len(now.trials)):
            prompt, parent = str(one["prompt"]), one.get("parent_id")
            made.append(
                Trial(
                    trial_id=f"trial_{now.number}_{number}",
                    generation=now.number,
                    prompt=self.evolution.expanded(prompt),
                    parent_id=str(parent) if parent else None,
                )
            )
        system = texts.child(self._name)
        tasks = [ChildTask(prompt=one.prompt, label=one.trial_id, system=system, rounds=1) for one in made]
        results = await self._run.agents.start_all(tasks, after_first=self.flow.after_first)
        for trial, result in zip(made, results, strict=True):
            _answered(trial, result)
        judged = await self._evaluator.evaluate([trial.code for trial in made if trial.code])
        for trial, (metrics, error) in zip([one for one in made if one.code], judged, strict=True):
            trial.metrics, trial.error, trial.success = metrics, error or None, bool(metrics.get("valid"))
        now.trials += made
        for trial in made:
            self._kept(trial)
        return made

    # The root

    def _opening(self) -> str:
        if self.flow.alone:
            return ""
        return texts.opening(self._children)

    def _system(self) -> tuple[str, str]:
        now = self.evolution.now.number
        best = self.evolution.best
        score = best.score if best is not None else 0.0
        return (
            texts.static(self._most, self._children, self.flow.calls * self._most),
            texts.dynamic(self._name, now, self._most, self._children, score),
        )

    async def _ask(self, words: str) -> str:
        """What the root replies to `words`. Raises `Failed`."""
        self.calls += 1
        self._logged("user", words)
        if self.flow.alone:
            now = self.evolution.now.number
            task = ChildTask(prompt=words, label=f"generation {now}", system="\n".join(self._system()), rounds=1)
            found = await self._run.agents.start(task)
            reply, why = found.text, found.why if not found.rounds else ""
        else:
            self._run.instruct(*self._system())
            result = await self._run.tell(words)
            reply, why = result.text, result.why
        if why or not reply:
            raise Failed(f"the root did not answer: {why or 'it said nothing'}")
        self._logged("assistant", reply)
        return reply

    # The experiment's folder

    def _logged(self, role: str, content: str, *, code: str | None = None, result: str | None = None) -> None:
        line = {
            "turn": self._turn,
            "role": role,
            "content": content,
            "code_executed": code,
            "execution_result": result,
            "timestamp": _now(),
        }
        self._turn += 1
        with (self._log / "root_llm_log.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")

    def _kept(self, trial: Trial) -> None:
        folder = self._log / "generations" / f"gen_{trial.generation}"
        folder.mkdir(parents=True, exist_ok=True)
        told = asdict(trial)
        told["cost_data"] = told.pop("cost")
        told["timestamp"] = _now()
        (folder / f"{trial.trial_id}.json").write_text(json.dumps(told, indent=2) + "\n", encoding="utf-8")


def _answered(trial: Trial, result: ChildResult) -> None:
    """Put a child's answer into its trial."""
    trial.response, trial.thread = result.text, result.thread
    found = _PROGRAM.search(result.text)
    trial.code = found[1].rstrip("\n") if found else ""
    trial.reasoning = (result.text[: found.start()] if found else result.text).strip()
    if not trial.code:
        trial.error = result.why or "the answer holds no fenced program"
    trial.cost = {
        "input_tokens": result.usage.fresh,
        "output_tokens": result.usage.output,
        "cache_read_input_tokens": result.usage.cache_read,
        "cache_creation_input_tokens": result.usage.cache_write,
        "total_cost": result.cost_usd,
    }


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
