"""`ctxtui edits stage`: edits staged from outside; the inspector shows them, and a person applies them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import click
from msgspec import Struct
from msgspec.structs import replace

from ctxtui.analysis.call_choice import choose_call
from ctxtui.analysis.short_names import Names
from ctxtui.cli import exit_codes
from ctxtui.cli.context import JSON_OPTION, NAME_HELP, THREAD_OPTION, SessionName, config_of, opened
from ctxtui.cli.edit.curate import curated_from, curation_json, lines
from ctxtui.cli.exit_codes import WrongUse
from ctxtui.cli.output import note, write, write_json
from ctxtui.core.edit import USER, Edit, make
from ctxtui.core.edit_kinds import DROP, EXTERNALIZE, PIN, TRUNCATE, kind_of
from ctxtui.curation.manual_edits import edits_for_key as proposed
from ctxtui.services.config.settings import Settings
from ctxtui.services.editing.curate import Curation
from ctxtui.services.editing.named_blocks import NamedBlock, block_name, find_block, list_blocks
from ctxtui.services.editing.overlay import SessionEdits, ThreadEdits
from ctxtui.services.recordings.recording import Loaded
from ctxtui.views.text import numbers, safe_text

_SHOWN: Final = 40
"""Blocks that are printed; JSON has all."""


@click.command(
    "stage",
    help="Stage edits of a session's next request: they wait in the inspector, with their price, until a person "
    "applies them there or takes them back. Nothing is sent. Without an edit, say what is staged.\n\n"
    f"NAME is {NAME_HELP}. BLOCK is the beginning of its digest as --blocks and `show --json` have it, four letters "
    "or more; #1 behind it means the second of the same.\n\n\b\n"
    "Example: ctxtui edits stage last --drop be5b073c2c --pin a26bbad392\n"
    "Example: ctxtui edits stage last --blocks",
)
@click.argument("name", metavar="NAME", type=SessionName())
@click.option("--pin", PIN, metavar="BLOCK", multiple=True, help="Keep it through every policy and compaction.")
@click.option("--drop", DROP, metavar="BLOCK", multiple=True, help="Leave it out, with what belongs to it.")
@click.option("--truncate", TRUNCATE, metavar="BLOCK", multiple=True, help="Keep its head and tail.")
@click.option(
    "--externalize", EXTERNALIZE, metavar="BLOCK", multiple=True, help="Keep it outside; a line stands for it."
)
@click.option("--take-back", is_flag=True, help="Take back what --author staged.")
@click.option("--author", metavar="NAME", default=USER, help="Who stages it, as the edit log says (user).")
@click.option("--blocks", is_flag=True, help="List the blocks by name, heaviest first.")
@THREAD_OPTION
@JSON_OPTION
@click.pass_context
def stage(
    context: click.Context,
    /,
    name: str,
    take_back: bool,
    author: str,
    blocks: bool,
    thread: str,
    as_json: bool,
    **wanted: tuple[str, ...],
) -> int:
    """Stage edits, and say what they cost."""
    asked = {kind: names for kind, names in wanted.items() if names}
    if not author.strip() or len(author) > 60:
        raise WrongUse("an author has a name of at most 60 letters", place="--author")
    settings = config_of(context).settings
    desk = _Desk.of(opened(name, settings), thread, settings)
    left, made = desk.stage(asked, author) if asked else ([], 0)
    gone = desk.take_back(author) if take_back else 0
    if made or gone:
        desk.edits.save()
    found = desk.curated()
    listed = _named(found) if blocks or as_json else []
    write_json(_staged_json(desk, found, left, listed if blocks else None)) if as_json else _print(desk, found, listed)
    for one, why in left:
        note(f"{one} stays as it is: {why}")
    if gone:
        note(f"{gone:,} edits taken back")
    if made:
        note(f"{made:,} edit{'s wait' if made != 1 else ' waits'} in the inspector: `a` applies, `E` lists them")
    return exit_codes.FAILED.number if asked and not made else exit_codes.OK.number


class _Desk(Struct, frozen=True):
    loaded: Loaded
    thread: str
    edits: SessionEdits
    overlay: ThreadEdits
    settings: Settings

    @classmethod
    def of(cls, loaded: Loaded, thread: str, settings: Settings) -> _Desk:
        edits, chosen = SessionEdits(loaded, settings), choose_call(loaded.session, thread).thread
        return cls(loaded, chosen, edits, edits.of(chosen), settings)

    def curated(self) -> Curation:
        """The next request under everything in force, with its price."""
        return curated_from(self.loaded, (self.thread, 0), [], list(self.overlay.in_force), self.settings, after=True)

    def stage(self, asked: dict[str, tuple[str, ...]], author: str) -> tuple[list[tuple[str, str]], int]:
        """Stage what is `asked`, blocks by kind; the blocks that stay as they are, each with its reason, and how many
        edits were made. Raises `NotFound`, `Several`."""
        found = self.curated()
        left: list[tuple[str, str]] = []
        wanted: dict[str, Edit] = {}
        for kind, names in asked.items():
            for name in names:
                made = proposed(found.applied, kind, [find_block(found.context, name)], self.overlay.keep_artifact)
                wanted |= dict.fromkeys([name], self._by(made.edits[0], author)) if made.edits else {}
                left += [(name, made.why)] if not made.edits else []
        staged = {edit.id: edit for edit in self.overlay.stage_all(wanted.values())}
        stand = {(edit.kind, edit.targets) for edit in staged.values()}
        for name, edit in wanted.items():
            if (edit.kind, edit.targets) not in stand:
                left.append((name, "it is staged already, or was taken back by the user"))
        held = {one.edit.id: one.why for one in self.curated().applied.held}
        stopped = [edit for edit in staged.values() if edit.id in held]
        if stopped:
            self.overlay.remove_staged(list(staged.values()))
            kept = [edit for edit in staged.values() if edit.id not in held]
            self.overlay.stage_all(replace(edit, batch="") for edit in kept)
            said = {edit.targets: name for name, edit in wanted.items()}
            left += [(said[edit.targets], held[edit.id]) for edit in stopped]
        return left, len(staged) - len(stopped)

    def take_back(self, author: str) -> int:
        """Take back what `author` staged; how many edits that are."""
        return len(self.overlay.revert((one.id for one in self.overlay.staged if one.author == author), author=author))

    def _by(self, edit: Edit, author: str) -> Edit:
        """`edit`, of another author: named after what it does and by whom, so that one that the user took back stays
        so. What its author took back can be staged again."""
        if author == USER:
            return edit
        made = make(edit.kind, edit.targets, edit.params, author=author)
        again = sum(one.reverts.partition("~")[0] == made.id and one.author == author for one in self.overlay.log)
        return replace(made, id=f"{made.id}~{again}") if again else made


def _named(found: Curation) -> list[NamedBlock]:
    tree, names = found.session.tree, Names(found.session.tree)
    return list_blocks(found, [names.label(tree[node]) for node in found.context.nodes])


def _print(desk: _Desk, found: Curation, listed: Sequence[NamedBlock]) -> None:
    for one in listed[:_SHOWN]:
        mark = "pinned" if one.pinned else "edited" if one.changed else ""
        label = safe_text.one_line(one.label, 80)
        write(f"{one.name:<12} {numbers.tokens(one.tokens):>7}  {one.category:<12} {mark:<7} {label}".rstrip())
    if listed[_SHOWN:]:
        write(f"{len(listed) - _SHOWN:,} smaller ones: --json has all")
    for line in _staged_lines(desk, found):
        write(line)
    if desk.overlay.in_force:
        for line in lines(found, (), ()):
            write(safe_text.line(line))


def _staged_lines(desk: _Desk, found: Curation) -> Iterator[str]:
    if not desk.overlay.in_force:
        yield "nothing is staged"
    applied = {edit.id for edit in desk.overlay.applied}
    for edit in desk.overlay.in_force:
        state = "applied" if edit.id in applied else "staged"
        blocks = ", ".join(_target_names(found, edit)) or "a block that is not in this context"
        author = safe_text.one_line(edit.author, 60)
        yield f"{state:<8} {kind_of(edit.kind).label:<12} {blocks}  by {author}"


def _target_names(found: Curation, edit: Edit) -> list[str]:
    places = [found.context.find(target) for target in edit.targets]
    return [block_name(found.context, at) for at in places if at is not None]


def _staged_json(
    desk: _Desk, found: Curation, left: list[tuple[str, str]], listed: Sequence[NamedBlock] | None
) -> dict[str, Any]:
    price = curation_json(found, (), (), b"", "")
    applied = {edit.id for edit in desk.overlay.applied}
    own: dict[str, Any] = {
        "session": found.session.about.id or desk.loaded.name,
        "thread": desk.thread,
        "edits": [
            {
                "id": edit.id,
                "kind": edit.kind,
                "state": "applied" if edit.id in applied else "staged",
                "author": edit.author,
                "at": edit.at,
                "blocks": _target_names(found, edit),
            }
            for edit in desk.overlay.in_force
        ],
        "left": [{"block": name, "why": why} for name, why in left],
        **{key: price[key] for key in ("tokens", "breaks_at_block", "moments", "held", "asleep", "refused")},
    }
    return own if listed is None else {**own, "blocks": [one._asdict() for one in listed]}
