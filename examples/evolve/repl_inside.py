"""Inside the sandbox: runs one block of the root's. Its functions are calls through the pipes in the folder.

python -I -S repl_inside.py FOLDER
"""

from __future__ import annotations

import json
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, TextIO


def remote(name: str, names: list[str], calls: TextIO, answers: TextIO) -> Callable[..., Any]:
    """A function that is done outside."""

    def call(*args: Any, **given: Any) -> Any:
        if len(args) > len(names) or set(given) - set(names):
            raise TypeError(f"{name}({', '.join(names)}) was called with other arguments")
        calls.write(json.dumps({"call": name, "given": {**dict(zip(names, args, strict=False)), **given}}) + "\n")
        calls.flush()
        told = json.loads(answers.readline())
        if "error" in told:
            raise ValueError(told["error"])
        return told["result"]

    return call


def main() -> int:
    """Run the block; its traceback is printed where it fails."""
    folder = Path(sys.argv[1])
    code = (folder / "block.py").read_text(encoding="utf-8")
    functions = json.loads((folder / "functions.json").read_text(encoding="utf-8"))
    with (
        (folder / "calls").open("w", encoding="utf-8") as calls,
        (folder / "answers").open(encoding="utf-8") as answers,
    ):
        known: dict[str, Any] = {"__name__": "__main__"}
        known |= {name: remote(name, names, calls, answers) for name, names in functions.items()}
        try:
            exec(compile(code, "<repl>", "exec"), known)
        except BaseException as error:  # noqa: BLE001 - whatever the block does is told
            own = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == "<repl>"]
            print("".join(traceback.format_list(own)) + "".join(traceback.format_exception_only(error)), end="")
            return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
