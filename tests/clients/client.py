"""What the tests know of a client: how it is set up, asked and resumed, and what does not apply to it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.clients.lab import Lab
    from tests.clients.wire import Exchange

ROOT = Path(__file__).parents[2]
INSTALLED = ROOT / ".venv-clients"
LIST = ROOT / "scripts" / "clients.txt"

FOUND, OPENED, FOLLOWED, CURATED, RESUMED, ACCEPTED = CELLS = (
    "found",
    "opened",
    "followed",
    "curated",
    "resumed",
    "accepted",
)

RECORDED = "recorded"
"""The column of `ctxtui exec` around the client."""
COLUMNS = (*CELLS, RECORDED)

Command = Sequence[str]


def nothing(_: Exchange) -> bool:
    """No request is missing in the record."""
    return False


def words(text: str) -> str:
    """What person, model or tool said in `text`: nothing where it is the client's own, which it adds to each session
    anew."""
    return "" if text.startswith(("<system-reminder>", "<environment_context>", "# AGENTS.md")) else text


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """A client of `scripts/clients.txt`.

    `files` are written below the lab's folder before it starts, {url} and {home} filled in, as in `env`. `ask` begins
    a session with the prompt `first`; `again` goes on with it by the client's own means and the prompt `second` (None
    where it has none). One that `talks` takes `second` and `third` from its input instead, one a line. `recordings` is
    a glob below the lab's folder for what it writes. `resume` are the commands that take a curated file and go on with
    the prompt `last`, which takes so many `rounds` of requests; `curate_to` names its format.

    One that `joins` sends consecutive answers (an edit may have removed what was between them) as one.

    An `exact` one records whole requests, one with `sums` no call's tokens but the last one's and a session's sum,
    without what was cached. `spent` is what a recording says of USD, `meter` what the client itself says of the tokens
    in a curated session that it was given. `aside` tells requests that the client itself records nowhere, `unrecorded`
    how texts begin that it sends and does not record, `spoken` what of a text is not the client's own. `lacks` gives
    the reason for each cell of the table that does not apply.
    """

    name: str
    env: Mapping[str, str]
    ask: Callable[[Lab, str], Command]
    again: Callable[[Lab, str], Command] | None
    recordings: str
    first: str = "read a.txt then run `sh gate.sh 1`"
    second: str = "read b.txt then run `sh gate.sh 2`"
    third: str = ""
    last: str = "run `ls`"
    rounds: int = 2
    files: Mapping[str, str] = field(default_factory=dict)
    talks: bool = False
    curate_to: str = ""
    resume: Callable[[Lab, Path, str], Sequence[Command]] | None = None
    joins: bool = False
    exact: bool = False
    sums: bool = False
    spent: Callable[[Path], float] | None = None
    meter: Callable[[Lab, Path], int] | None = None
    spoken: Callable[[str], str] = words
    aside: Callable[[Exchange], bool] = nothing
    unrecorded: tuple[str, ...] = ()
    lacks: Mapping[str, str] = field(default_factory=dict)

    @property
    def folder(self) -> Path:
        """Where it is installed."""
        return INSTALLED / self.name

    @property
    def package(self) -> str:
        """What is installed, as in `scripts/clients.txt`."""
        return packages()[self.name]

    @property
    def version(self) -> str:
        return self.package.split()[0].rpartition("@" if "@" in self.package else "==")[2]

    @property
    def installed(self) -> bool:
        stamp = self.folder / "installed"
        return stamp.exists() and stamp.read_text().strip() == self.package

    def program(self, name: str) -> str:
        """The path of its program."""
        npm = self.folder / "node_modules" / ".bin" / name
        return str(npm if npm.exists() else self.folder / "bin" / name)


def packages() -> dict[str, str]:
    """Client -> what is installed for it."""
    found = {}
    for line in LIST.read_text().splitlines():
        if line.strip() and not line.startswith("#"):
            name, _, _, wanted = line.split(maxsplit=3)
            found[name] = wanted.strip()
    return found
