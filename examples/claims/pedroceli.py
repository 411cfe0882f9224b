"""What commands show of Pedroceli's claims (context window management)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from examples.kit import Figure, asked
from examples.pedroceli import repository

SAMPLE = "sessions/4-pedroceli.jsonl"
MODEL = "qwen2.5-coder:32b"


def rows(folder: Path) -> Iterator[Figure]:
    """The rows; `folder` is where to work."""
    model = folder / "my-model"
    model.mkdir()
    (model / "config.json").write_text(json.dumps({"model_type": "qwen2", "max_position_embeddings": 16_384}))
    found = asked("budget", "--model", str(model), cwd=_empty(folder))
    yield Figure(
        "the window of a model's own folder",
        "auto-detect context from HF (a stretch goal)",
        f"{found['window']:,}, usable {found['usable']:,}",
        "its config.json; a .gguf says it in its header; the Hub is asked with --hub only",
        "ctxtui budget --model HERE/my-model HERE/empty",
        "N31, §4 windows, 004 future",
        SAMPLE,
    )
    for entities, theirs, claim in ((2, "small", "under 20k"), (7, "medium", "20k to 50k"), (10, "large", "above 50k")):
        project = folder / f"project-{theirs}"
        repository.write(project, entities)
        told = asked("budget", "--model", "llama3.1:70b", cwd=project)
        tokens = told["repository"]["loadable_tokens"]
        yield Figure(
            f"a {theirs} repository, {claim} tokens",
            {"small": "load everything", "medium": "files under 2k, larger ones summarised", "large": "by task"}[
                theirs
            ],
            f"{tokens:,}: {told['strategy']['name']}",
            "their example of 45,000 is medium by their own rule, and they call it large" if theirs == "medium" else "",
            f"ctxtui budget --model llama3.1:70b HERE/project-{theirs}",
            "N32, §4 files, 004 strategies",
            SAMPLE,
        )


def _empty(folder: Path) -> Path:
    made = folder / "empty"
    made.mkdir(exist_ok=True)
    return made
