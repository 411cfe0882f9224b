"""The figures of the systems that the examples reproduce, beside those of their authors: all of it from real runs.

``python scripts/seeds.py`` runs the examples against the offline provider and prints the table, ``--json`` for
programs, ``--write`` puts it into docs/seeds.md. Sessions are in the user's database, as those of every example.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "seeds.md"
BEGIN, END = "<!-- seeds: written by make seeds ARGS=--write -->", "<!-- end of seeds -->"
SYSTEMS = {
    "evolve": "pineapple_evolve",
    "bridge": "An LM Studio bridge",
    "musume": "LLuMa Musume",
    "pedroceli": "Pedroceli",
}
Row = dict[str, str]


def run(name: str) -> tuple[list[Row], dict[str, str]]:
    """The rows of an example, and its sessions."""
    told = [sys.executable, "-m", f"examples.{name}", "--json"]
    done = subprocess.run(told, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found["figures"], found["sessions"]


def every() -> dict[str, tuple[list[Row], dict[str, str]]]:
    """Every example's rows and sessions; they run side by side."""
    with ThreadPoolExecutor(len(SYSTEMS)) as pool:
        return dict(zip(SYSTEMS, pool.map(run, SYSTEMS), strict=True))


def table(rows: list[Row]) -> str:
    """Rows as Markdown."""
    lines = ["| claim | authors | ours | why different | command |", "|---|---|---|---|---|"]
    for row in rows:
        command = f"`{row['command']}`" if row["command"] else ""
        lines.append("| " + " | ".join([row["claim"], row["theirs"], row["ours"], row["why"], command]) + " |")
    return "\n".join(lines)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--write", action="store_true", help="write the tables into docs/seeds.md")
    given = parser.parse_args()
    found = every()
    if given.json:
        print(json.dumps({name: {"figures": rows, "sessions": ids} for name, (rows, ids) in found.items()}, indent=1))
        return
    text = "\n\n".join(
        f"## {SYSTEMS[name]}\n\n`python -m examples.{name}`\n\n{table(rows)}" for name, (rows, _) in found.items()
    )
    if given.write:
        page = PAGE.read_text(encoding="utf-8")
        before, after = page.partition(BEGIN)[0], page.partition(END)[2]
        PAGE.write_text(f"{before}{BEGIN}\n\n{text}\n\n{END}{after}", encoding="utf-8")
    else:
        print(text)
        for name, (_, ids) in found.items():
            for what, id_ in ids.items():
                print(f"{name}, {what}: ctxtui open {id_}")


if __name__ == "__main__":
    main()
