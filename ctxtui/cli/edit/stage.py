"""`ctxtui edits stage`: stage edits, which a user reviews and applies in the inspector."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import click
from msgspec import Struct
from msgspec.structs import replace

from ctxtui.analysis.call_choice import choose_call
from ctxtui.analysis.short_names import Names
from ctxtui.cli import exit_codes
from ctxtui.cli.context import JSON_OPTION, NAME_HELP, THREAD_OPTION, SessionName, config_of, open_recording
from ctxtui.cli.edit.curate import copy_from, curate_session, curation_json, price_lines
from ctxtui.cli.exit_codes import WrongUse
from ctxtui.cli.output import note, write, write_json
from ctxtui.core.edit import USER, Edit, make
from ctxtui.core.edit_kinds import DROP, EXTERNALIZE, PIN, TRUNCATE, kind_of
from ctxtui.curation.manual_edits import edits_for_key
from ctxtui.curation.transplant import CopiedBlocks
from ctxtui.services.config.settings import Settings
from ctxtui.services.editing.curate import Curation
from ctxtui.services.editing.named_blocks import NamedBlock, block_name, find_block, list_blocks
from ctxtui.services.editing.overlay import SessionEdits, ThreadEdits
from ctxtui.services.editing.transplant import transplant
from ctxtui.services.recordings.recording import Loaded
from ctxtui.views.text import numbers, safe_text

MAX_PRINTED_BLOCKS: Final = 40
STAGED_BEFORE: Final = "it is staged already, or was reverted by the user"


@click.command(
    "stage",
    help="Stage edits of a session's next request: the inspector shows them with their price until you apply or "
    "revert them. Nothing is sent. Without an edit, print what is staged.\n\n"
    f"NAME is {NAME_HELP}. BLOCK is the start of its digest as in --blocks and `show --json`, four characters or more; "
    "a trailing #1 means the second block with that digest.\n\n\b\n"
    "Example: ctxtui edits stage last --drop be5b073c2c --pin a26bbad392\n"
    "Example: ctxtui edits stage last --from 7f3a@12 be5b073c2c..a26bbad392\n"
    "Example: ctxtui edits stage last --blocks",
)
@click.argument("name", metavar="NAME", type=SessionName())
@click.option("--pin", PIN, metavar="BLOCK", multiple=True, help="Keep it through every policy and compaction.")
@click.option("--drop", DROP, metavar="BLOCK", multiple=True, help="Remove it, with its call or result.")
@click.option("--truncate", TRUNCATE, metavar="BLOCK", multiple=True, help="Keep its head and tail.")
@click.option(
    "--externalize",
    EXTERNALIZE,
    metavar="BLOCK",
    multiple=True,
    help="Store it outside the context, replaced by one line.",
)
@click.option(
    "--from",
    "source",
    nargs=2,
    metavar="SESSION[@CALL] BLOCKS",
    help="Put in blocks of another session's call (default: its last), calls and results paired, with new ids: names "
    "with commas; FIRST..LAST is a range.",
)
@click.option("--behind", metavar="BLOCK", help="With --from: the block to put them in after (default: the last).")
@click.option("--take-back", is_flag=True, help="Revert the staged edits of --author.")
@click.option("--author", metavar="NAME", default=USER, help="Author for the edit log (user).")
@click.option("--blocks", is_flag=True, help="List the blocks by name, heaviest first.")
@THREAD_OPTION
@JSON_OPTION
@click.pass_context
def stage(
    context: click.Context,
    /,
    name: str,
    source: tuple[str, str] | None,
    behind: str | None,
    take_back: bool,
    author: str,
    blocks: bool,
    thread: str,
    as_json: bool,
    **by_kind: tuple[str, ...],
) -> int:
    given_blocks = {kind: names for kind, names in by_kind.items() if names}
    if not author.strip() or len(author) > 60:
        raise WrongUse("the author's name must have 1 to 60 characters", place="--author")
    if behind and source is None:
        raise WrongUse("--behind needs --from: it says where the copied blocks go", place="--behind")
    settings = config_of(context).settings
    session_staging = _SessionStaging.open(open_recording(name, settings), thread, settings)
    unchanged, staged_count = session_staging.stage(given_blocks, author) if given_blocks else ([], 0)
    if source is not None:
        left_out, inserted_count = session_staging.put_in(copy_from(*source, settings), behind or "", author)
        staged_count += inserted_count
        unchanged += [(source[1], why) for why in left_out]
    reverted_count = session_staging.revert_staged(author) if take_back else 0
    if staged_count or reverted_count:
        session_staging.edits.save()
    curation = session_staging.curate()
    listed = _list_blocks(curation) if blocks or as_json else []
    write_json(_staged_json(session_staging, curation, unchanged, listed if blocks else None)) if as_json else _print(
        session_staging, curation, listed
    )
    for block, reason in unchanged:
        is_copied = source is not None and block == source[1]
        note(f"left out: {reason}" if is_copied else f"{block} is not changed: {reason}")
    if reverted_count:
        note(f"{numbers.many(reverted_count, 'edit')} reverted")
    if staged_count:
        note(f"{numbers.many(staged_count, 'edit')} staged: in the inspector, `a` applies and `E` lists them")
    return exit_codes.FAILED.number if (given_blocks or source) and not staged_count else exit_codes.OK.number


class _SessionStaging(Struct, frozen=True):
    loaded: Loaded
    thread: str
    edits: SessionEdits
    overlay: ThreadEdits
    settings: Settings

    @classmethod
    def open(cls, loaded: Loaded, thread: str, settings: Settings) -> _SessionStaging:
        edits, chosen = SessionEdits(loaded, settings), choose_call(loaded.session, thread).thread
        return cls(loaded, chosen, edits, edits.of_thread(chosen), settings)

    def curate(self) -> Curation:
        return curate_session(self.loaded, (self.thread, 0), [], list(self.overlay.in_force), self.settings, after=True)

    def stage(self, given_blocks: dict[str, tuple[str, ...]], author: str) -> tuple[list[tuple[str, str]], int]:
        """Stage edits of `given_blocks` (names by kind).

        Return the unchanged ones with reasons, and the edits' number. Raises `NotFound`, `Several`.
        """
        curation = self.curate()
        unchanged: list[tuple[str, str]] = []
        new_edits: list[tuple[str, Edit]] = []
        for kind, names in given_blocks.items():
            for name in names:
                position = find_block(curation.context, name)
                proposal = edits_for_key(curation.applied, kind, [position], self.overlay.keep_artifact)
                if proposal.edits:
                    new_edits.append((name, self._with_author(proposal.edits[0], author)))
                else:
                    unchanged.append((name, proposal.why))
        staged = {edit.id: edit for edit in self.overlay.stage_all(edit for _, edit in new_edits)}
        in_force = {(edit.kind, edit.targets) for edit in staged.values()}
        for name, edit in new_edits:
            if (edit.kind, edit.targets) not in in_force:
                unchanged.append((name, STAGED_BEFORE))
        failed = {rejected.edit.id: rejected.why for rejected in self.curate().applied.rejected}
        stopped = [edit for edit in staged.values() if edit.id in failed]
        if stopped:
            self.overlay.remove_staged(list(staged.values()))
            working = [edit for edit in staged.values() if edit.id not in failed]
            self.overlay.stage_all(replace(edit, batch="") for edit in working)
            names_by_target = {edit.targets: name for name, edit in new_edits}
            unchanged += [(names_by_target[edit.targets], failed[edit.id]) for edit in stopped]
        return unchanged, len(staged) - len(stopped)

    def put_in(self, copied: CopiedBlocks, behind: str, author: str) -> tuple[list[str], int]:
        """Stage the edit that puts `copied` after the block called `behind` ("": the last).

        Return what could not be copied, with reasons, and the number of edits staged. Raises `CtxtuiError`.
        """
        session, in_force = self.loaded.session, self.overlay.in_force
        edit, left_out = transplant(session, choose_call(session, self.thread), in_force, copied, behind, after=True)
        staged_count = len(self.overlay.stage_all([self._with_author(edit, author)]))
        return [*left_out, *([] if staged_count else [STAGED_BEFORE])], staged_count

    def revert_staged(self, author: str) -> int:
        return len(
            self.overlay.revert((edit.id for edit in self.overlay.staged if edit.author == author), author=author)
        )

    def _with_author(self, edit: Edit, author: str) -> Edit:
        """A copy of `edit` by another author, with an id of effect and author.

        An edit reverted by the user stays reverted; one reverted by its author can be staged again.
        """
        if author == USER:
            return edit
        authored = make(edit.kind, edit.targets, edit.params, author=author)
        revert_count = sum(
            entry.reverts.partition("~")[0] == authored.id and entry.author == author for entry in self.overlay.log
        )
        return replace(authored, id=f"{authored.id}~{revert_count}") if revert_count else authored


def _list_blocks(curation: Curation) -> list[NamedBlock]:
    tree, names = curation.session.tree, Names(curation.session.tree)
    return list_blocks(curation, [names.label(tree[node]) for node in curation.context.nodes])


def _print(session_staging: _SessionStaging, curation: Curation, listed: Sequence[NamedBlock]) -> None:
    for block in listed[:MAX_PRINTED_BLOCKS]:
        mark = "pinned" if block.pinned else "edited" if block.changed else ""
        label = safe_text.one_line(block.label, 80)
        write(f"{block.name:<12} {numbers.tokens(block.tokens):>7}  {block.category:<12} {mark:<7} {label}".rstrip())
    if listed[MAX_PRINTED_BLOCKS:]:
        write(f"{len(listed) - MAX_PRINTED_BLOCKS:,} smaller blocks not shown: --json has all")
    for line in _staged_lines(session_staging, curation):
        write(line)
    if session_staging.overlay.in_force:
        for line in price_lines(curation, (), ()):
            write(safe_text.line(line))


def _staged_lines(session_staging: _SessionStaging, curation: Curation) -> Iterator[str]:
    if not session_staging.overlay.in_force:
        yield "nothing is staged"
    applied = {edit.id for edit in session_staging.overlay.applied}
    for edit in session_staging.overlay.in_force:
        state = "applied" if edit.id in applied else "staged"
        blocks = ", ".join(_target_names(curation, edit)) or "a block that is not in this context"
        author = safe_text.one_line(edit.author, 60)
        yield f"{state:<8} {kind_of(edit.kind).label:<12} {blocks}  by {author}"


def _target_names(curation: Curation, edit: Edit) -> list[str]:
    places = [curation.context.find(target) for target in edit.targets]
    return [block_name(curation.context, at) for at in places if at is not None]


def _staged_json(
    session_staging: _SessionStaging,
    curation: Curation,
    unchanged: list[tuple[str, str]],
    listed: Sequence[NamedBlock] | None,
) -> dict[str, Any]:
    price = curation_json(curation, (), (), b"", "")
    applied = {edit.id for edit in session_staging.overlay.applied}
    fields: dict[str, Any] = {
        "session": curation.session.about.id or session_staging.loaded.name,
        "thread": session_staging.thread,
        "edits": [
            {
                "id": edit.id,
                "kind": edit.kind,
                "state": "applied" if edit.id in applied else "staged",
                "author": edit.author,
                "at": edit.at,
                "blocks": _target_names(curation, edit),
            }
            for edit in session_staging.overlay.in_force
        ],
        "left": [{"block": name, "why": why} for name, why in unchanged],
        **{key: price[key] for key in ("tokens", "breaks_at_block", "moments", "held", "asleep", "refused")},
    }
    return fields if listed is None else {**fields, "blocks": [block._asdict() for block in listed]}
