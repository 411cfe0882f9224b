"""Look-alike blocks for training the dictionary: the shapes of agents' JSON filled with made-up work."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

Block = dict[str, Any]

NAMES = """user session config request response handler client server message token cache store path file line error
result value item list context query schema table model test event state buffer parser reader writer worker task job
queue node tree graph edge key index batch order price total account login auth role page view form button menu route
service manager factory builder adapter driver engine plugin module package version release build deploy""".split()
TYPES = "str int bool float bytes None dict list object string number boolean Promise Error Option Result Vec".split()
FOLDERS = "src lib app core tests docs scripts internal cmd pkg components utils api web server client".split()
ENDINGS = "py ts tsx js go rs md json toml yaml sh sql html css".split()
TOOLS = "Bash Read Edit Write Grep Glob Task TodoWrite WebFetch WebSearch LS MultiEdit".split()
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
HOME = "/home/user/project/"


def _templates(name: str) -> list[str]:
    # One template per paragraph.
    text = (Path(__file__).parent / "dictionary" / f"{name}.txt").read_text(encoding="utf-8")
    return text.strip().split("\n\n")


PROSE, CODE, OUTPUT = _templates("prose"), _templates("code"), _templates("output")


class Maker:
    """A stream of blocks from one seed."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        plain = [self.words, self.use, self.result, self.failed, self.listed, self.thinking]
        foreign = [self.definition, self.call, self.output, self.reasoning, self.tool_message]
        self.shapes: list[Callable[[], Block]] = plain + foreign

    def block(self) -> Block:
        """One block, of any kind an agent's recording holds."""
        return self.random.choice(self.shapes)()

    def path(self) -> str:
        r = self.random
        return "/".join([r.choice(FOLDERS), *r.sample(NAMES, r.randint(1, 2))]) + "." + r.choice(ENDINGS)

    def fill(self, template: str) -> str:
        r = self.random
        a, b, c, d = r.sample(NAMES, 4)
        fixed = {"a": a, "b": b, "c": c, "d": d, "A": a.title(), "B": b.title(), "C": c.title()}
        fresh: dict[str, Callable[[], str]] = {
            "T": lambda: r.choice(TYPES),
            "e": lambda: r.choice(ENDINGS),
            "n": lambda: str(r.randint(2, 60)),
            "m": lambda: str(r.randint(100, 90000)),
            "h": lambda: f"{r.getrandbits(28):07x}",
            "p": self.path,
        }
        return re.sub("«(.)»", lambda m: fixed.get(m[1]) or fresh[m[1]](), template)

    def some(self, templates: list[str], low: int, high: int, glue: str = "\n") -> str:
        return glue.join(self.fill(self.random.choice(templates)) for _ in range(self.random.randint(low, high)))

    def noise(self, length: int) -> str:
        return "".join(self.random.choices(LETTERS, k=length))

    def said(self) -> str:
        lines = self.some(CODE, 1, 6, "\n\n").split("\n")
        numbered = "\n".join(f"{number:6d}\u2192{line}" for number, line in enumerate(lines, 1))
        return self.random.choice([numbered, self.some(OUTPUT, 1, 6), self.some(CODE, 1, 3, "\n\n")])

    def command(self) -> str:
        p, q, word = self.path(), self.path(), self.random.choice(NAMES)
        shapes = [
            f"cd {HOME} && python -m pytest {p} -x -q 2>&1 | tail -30",
            f'grep -rn "{word}" {p} --include="*.py" | head -20',
            f"git add {p} && git commit -m \"$(cat <<'EOF'\nUpdate {q}\nEOF\n)\" && git status --short",
            f"sed -n '1,200p' {p}",
            f"npm run build && npm test -- {p}",
            f"ls -la {p} && cat {q}",
            f"find . -name '*.ts' -not -path './node_modules/*' | xargs grep -l {word}",
        ]
        return self.random.choice(shapes)

    def inputs(self, tool: str) -> Block:
        path = HOME + self.path()
        if tool == "Bash":
            return {"command": self.command(), "description": self.some(PROSE, 1, 1)[:50], "timeout": 120000}
        if tool in ("Edit", "MultiEdit"):
            return {"replace_all": False, "file_path": path, "old_string": self.said(), "new_string": self.said()}
        if tool == "Write":
            return {"file_path": path, "content": self.some(CODE, 2, 8, "\n\n")}
        if tool == "TodoWrite":
            words = self.some(PROSE, 1, 1)[:50]
            states = ["completed", "in_progress", "pending"]
            return {"todos": [{"content": words, "status": state, "activeForm": words} for state in states]}
        if tool in ("Grep", "Glob"):
            return {"pattern": self.path(), "path": path, "output_mode": "content", "-n": True, "head_limit": 20}
        return {
            "file_path": path,
            "offset": self.random.randint(1, 900),
            "limit": 100,
            "prompt": self.some(PROSE, 1, 3),
        }

    def words(self) -> Block:
        return {"type": "text", "text": self.some(PROSE, 1, 6, self.random.choice(["\n\n", " "]))}

    def thinking(self) -> Block:
        return {"type": "thinking", "thinking": self.some(PROSE, 2, 9, " "), "signature": "Er" + self.noise(200)}

    def use(self) -> Block:
        tool = self.random.choice(TOOLS)
        return {"type": "tool_use", "id": "toolu_01" + self.noise(22), "name": tool, "input": self.inputs(tool)}

    def result(self) -> Block:
        return {"tool_use_id": "toolu_01" + self.noise(22), "type": "tool_result", "content": self.said()}

    def failed(self) -> Block:
        ident = "toolu_01" + self.noise(22)
        return {"type": "tool_result", "content": self.said(), "is_error": True, "tool_use_id": ident}

    def listed(self) -> Block:
        content = [{"type": "text", "text": self.said()}]
        return {
            "tool_use_id": "toolu_01" + self.noise(22),
            "type": "tool_result",
            "content": content,
            "is_error": False,
        }

    def definition(self) -> Block:
        a, b = self.random.sample(NAMES, 2)
        items = {"type": "array", "items": {"type": "string", "enum": [a, b]}, "description": f"List of {a}s"}
        fields = {a: {"type": "string", "description": f"The {a} of the {b} (optional)"}, b: items}
        schema = {"type": "object", "properties": fields, "required": [a], "additionalProperties": False}
        schema["$schema"] = "http://json-schema.org/draft-07/schema#"
        return {"name": f"{a}_{b}", "description": self.some(PROSE, 2, 6), "input_schema": schema}

    def call(self) -> Block:
        words = json.dumps({"command": ["bash", "-lc", self.command()], "workdir": HOME, "timeout_ms": 120000})
        return {"type": "function_call", "name": "shell", "arguments": words, "call_id": "call_" + self.noise(24)}

    def output(self) -> Block:
        words = json.dumps({"output": self.said(), "metadata": {"exit_code": 0, "duration_seconds": 0.1}})
        return {"type": "function_call_output", "call_id": "call_" + self.noise(24), "output": words}

    def reasoning(self) -> Block:
        summary = [{"type": "summary_text", "text": "**" + self.some(PROSE, 1, 3)}]
        return {
            "type": "reasoning",
            "summary": summary,
            "content": None,
            "encrypted_content": "gAAAAAB" + self.noise(200),
        }

    def tool_message(self) -> Block:
        return {"role": "tool", "tool_call_id": "call_" + self.noise(24), "content": self.said(), "type": "text"}


def samples(count: int, seed: int = 1) -> Iterator[bytes]:
    """`count` canonical bodies; the same seed gives the same bytes."""
    maker = Maker(seed)
    for _ in range(count):
        yield json.dumps(maker.block(), ensure_ascii=False, separators=(",", ":")).encode()
