"""A session of a real client on two records: what ctxtui would have written as it went by, and the client's own."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from ctxtui.attach.exchange_events import AnswerBegun, AnswerBytes, ExchangeEnded, RequestBegun, RequestBytes
from ctxtui.attach.recorder import Recorder
from ctxtui.attach.run import RecordedRun
from ctxtui.services.config.paths import attached_dir

HOSTS = {"claude": "https://api.anthropic.com", "codex": "https://api.openai.com"}


def exchanges(path: Path) -> Iterator[dict[str, Any]]:
    """The exchanges of a wire file; a request may name an earlier one whose beginning and end it shares."""
    sent: dict[int, str] = {}
    for line in path.read_text().splitlines():
        one = json.loads(line)
        cut = one["request"]
        if isinstance(cut, dict):
            like = sent[cut["like"]]
            one["request"] = like[: cut["head"]] + cut["middle"] + like[len(like) - cut["tail"] :]
        sent[one["n"]] = one["request"]
        yield one


def client_of(folder: Path) -> str:
    """Whose session lies in a folder of the corpus's ``clients``."""
    return folder.parent.name.partition("-")[0]


def planted(folder: Path, home: Path) -> Path:
    """The client's own files of the session in `folder`, where that client keeps them below `home`; its main file."""
    if client_of(folder) == "claude":
        place = home / ".claude" / "projects" / "-home-dev-shop"
    else:
        place = home / ".codex" / "sessions" / "2026" / "11" / "22"
    place.mkdir(parents=True, exist_ok=True)
    files = [one for one in sorted(folder.iterdir()) if one.name not in ("wire.jsonl", "raw-api-bodies")]
    for one in files:
        (shutil.copytree if one.is_dir() else shutil.copy)(one, place / one.name)
    return place / next(one.name for one in files if one.suffix == ".jsonl")


def recorded(folder: Path, wanted: Callable[[int], bool] = lambda number: True, run: str = "r") -> Path:
    """What ctxtui writes of the exchanges in `folder` whose numbers (from 1) are `wanted`: the client's main session's
    recording."""
    recorder = Recorder(RecordedRun(attached_dir(), run, program=client_of(folder)))
    for one in exchanges(folder / "wire.jsonl"):
        if not wanted(one["n"]):
            continue
        x = f"{run}.{one['n']}"
        at = one["at"]
        url = HOSTS[client_of(folder)] + one["path"]
        fields = [(name, text) for name, text in one["request_headers"]]
        recorder.put(RequestBegun(exchange_id=x, at=at, method=one["method"], url=url, fields=fields))
        recorder.put(RequestBytes(x, one["request"].encode(), last=True))
        recorder.put(AnswerBegun(x, at + 0.001, one["status"], [tuple(pair) for pair in one["response_headers"]]))
        recorder.put(AnswerBytes(x, at + 0.002, one["response"].encode()))
        recorder.put(ExchangeEnded(x, at + 0.003))
    recorder.close()
    assert not recorder.troubles
    return recorder.files[0]
