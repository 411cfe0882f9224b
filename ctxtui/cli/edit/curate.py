"""`ctxtui curate`: a context under edits and policies with its price, as a request."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import click

from ctxtui.analysis.call_choice import choose_call
from ctxtui.analysis.content.guard import Guard
from ctxtui.cli.context import NAME_HELP, THREAD_OPTION, SessionName, config_of, open_recording, read_file
from ctxtui.cli.edit.share import emit, emit_beside
from ctxtui.cli.output import note, write, write_json
from ctxtui.cli.paint import width
from ctxtui.cli.progress import counting
from ctxtui.core import canonical
from ctxtui.core.edit import Edit
from ctxtui.core.edit_json import loads, to_json
from ctxtui.core.usage import Usage
from ctxtui.curation.legality.violation import Violation
from ctxtui.curation.policies.policy import Step
from ctxtui.curation.price.price_tag import ApplyMoment, PriceTag
from ctxtui.curation.transplant import CopiedBlocks
from ctxtui.services.config.package_data import guard_rules
from ctxtui.services.config.policy_registry import build_steps
from ctxtui.services.config.settings import Settings
from ctxtui.services.counting.books import book_for
from ctxtui.services.counting.counting import count_all
from ctxtui.services.counting.pricing import prices_for
from ctxtui.services.editing.curate import Curation, curate_context
from ctxtui.services.editing.edited_context import FORMS, OWN, RESUMED, TRANSLATED, WrittenContext, write_context
from ctxtui.services.editing.edited_request import applied_edits
from ctxtui.services.editing.exporting import command_for, find_own_call, prepare_path, resume_info, session_path
from ctxtui.services.editing.transplant import copy_named, transplant
from ctxtui.services.members import members
from ctxtui.services.recordings.open_by_name import split_call
from ctxtui.services.recordings.recording import Loaded
from ctxtui.transcripts.targets import TARGETS
from ctxtui.views.text import numbers, safe_text
from ctxtui.views.text.safe_text import one_line

ENDS_AFTER_ANSWER = (
    "a session to resume must end after an answer: its client waits for the next prompt, and would not answer one in "
    "the file; --to anthropic (or another dialect) writes the request with the prompt"
)
OUTPUT_OPTION: Final = click.option(
    "-o", "--output", type=click.Path(path_type=Path), metavar="FILE", help="Write FILE; a session also into a folder."
)


@click.command(
    "curate",
    help="Apply edits and policies to one call's context: print what that frees, breaks and costs, and the request, "
    "ready to send. A terminal shows the price; with -o FILE or a pipe the request is written, and the price goes to "
    "standard error. Without edits and policies the request is the recorded one. --call N goes back to an "
    "earlier call (a rewind): with --to its client resumes there.\n\n"
    f"PATH is {NAME_HELP}. --policy takes a policy's name (`ctxtui help policies` lists them) or a TOML file with "
    "[[policy]] tables; --edits a file of edits, one JSON object per line; --applied those that you applied on the "
    "screen.\n\n"
    "--to with the name of the client that made the recording writes a new session for it, to be resumed after an "
    "answer; for claude-code and codex, recordings of any client are translated. The command to resume it is "
    "printed.\n\n\b\n"
    "Example: ctxtui curate session.jsonl --policy budget --set target=60000 > request.json\n"
    "Example: ctxtui curate last --policy keep_rounds --dry-run\n"
    "Example: ctxtui curate last --from 7f3a@12 --blocks be5b073c2c..a26bbad392 --dry-run",
)
@click.argument("name", metavar="PATH", type=SessionName())
@click.option(
    "--policy",
    "policies",
    metavar="NAME|FILE",
    multiple=True,
    help="A policy or profile; repeatable, applied in order.",
)
@click.option(
    "--set", "settings_given", metavar="K=V", multiple=True, help="A setting of the policy (JSON, or plain text)."
)
@click.option("--edits", "edits_file", type=click.Path(path_type=Path), metavar="FILE", help="Edits to apply first.")
@click.option("--applied", is_flag=True, help="Start with the edits applied on the screen; implies --after.")
@click.option(
    "--from",
    "source",
    metavar="SESSION[@CALL]",
    help="Put in blocks of another session's call (default: its last), calls and results paired, with new ids.",
)
@click.option(
    "--blocks",
    metavar="BLOCKS",
    help="The blocks of --from: names as in `edits stage --blocks`, with commas; FIRST..LAST is a range.",
)
@click.option("--behind", metavar="BLOCK", help="The block of PATH to put them in after (default: the last).")
@click.option("--redact", is_flag=True, help="Mask keys, tokens and passwords that the findings report.")
@click.option("--dry-run", is_flag=True, help="Print only the changes and their price, not the request.")
@click.option("--to", "form", type=click.Choice(FORMS), help="Format to write (default: the recorded dialect).")
@click.option("--call", "number", type=click.IntRange(min=1), metavar="N", help="The Nth call (default: the last).")
@click.option(
    "--after/--no-after",
    default=None,
    help="Use the context after the call's answer, where the next request begins. Always so for a session to resume.",
)
@THREAD_OPTION
@click.option("--drop-block", is_flag=True, help="Keep thinking that is no longer valid, for the provider to drop.")
@click.option("--keep-quoted", is_flag=True, help="Do not change blocks that later blocks quote.")
@OUTPUT_OPTION
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print JSON (schema_version 1) with edits, prices and the request; -o FILE is written, too.",
)
@click.pass_context
def curate(
    context: click.Context,
    /,
    name: str,
    policies: tuple[str, ...],
    settings_given: tuple[str, ...],
    edits_file: Path | None,
    source: str | None,
    blocks: str | None,
    behind: str | None,
    number: int | None,
    thread: str,
    form: str | None,
    output: Path | None,
    after: bool | None,
    **flags: bool,
) -> None:
    if form in RESUMED and after is False:
        raise click.UsageError(ENDS_AFTER_ANSWER, context)
    if (source or blocks or behind) and not (source and blocks):
        raise click.UsageError("--from SESSION and --blocks BLOCKS need each other; --behind is optional", context)
    settings = config_of(context).settings
    steps = build_steps(policies, settings_given)
    edits = loads(read_file(edits_file), f"{edits_file}:") if edits_file is not None else []
    loaded, number = _open(
        name, settings, form or "", thread or "", number or 0, bool(edits or source or flags["applied"])
    )
    after = bool(after or flags["applied"] or form in RESUMED)
    applied = (
        applied_edits(loaded, settings, choose_call(loaded.session, thread, number or 0)) if flags["applied"] else ()
    )
    if flags["applied"] and not applied:
        note("no edits are applied: press `a` in the inspector to apply staged ones")
    if source and blocks:
        target = choose_call(loaded.session, thread, number or 0)
        copied = copy_from(source, blocks, settings)
        edit, left_out = transplant(loaded.session, target, [*applied, *edits], copied, behind or "", after=after)
        for reason in left_out:
            note(f"left out: {reason}")
        edits.append(edit)
    curation = curate_session(
        loaded,
        (thread, number or 0),
        steps,
        [*applied, *edits],
        settings,
        after,
        drops_blocks=flags["drop_block"],
        keep_quoted=flags["keep_quoted"],
        resumed=form in RESUMED,
        applied=applied,
        guard=Guard(guard_rules()) if flags["redact"] else None,
    )

    out, output = prepare_output(curation, loaded, form or "", output, flags["dry_run"])
    if out.data and should_write(output, as_json=flags["as_json"]):
        write_request(out, output, loaded.path)
    if flags["as_json"]:
        fields = curation_json(curation, out.lost, out.violations, out.data, form or curation.form)
        write_json({**fields, "resume": resume_info(form or "", out, output)})
    on_screen = _goes_to_terminal(output) and not flags["as_json"]
    for line in price_lines(curation, out.lost, out.violations):
        if on_screen:
            _print_wrapped(line)
        else:
            note(line)
    if on_screen and out.data:
        note(f"the request has {len(out.data):,} bytes: use -o FILE or a pipe to write it")


def _open(name: str, settings: Settings, form: str, thread: str, number: int, edited: bool) -> tuple[Loaded, int]:
    """Open the recording, or its client's own transcript if that is resumed.

    Also return the call's number. If it was `edited` and can be translated, the recording is opened, as the edits name
    its blocks.
    """
    loaded = open_recording(name, settings)
    own = None
    if form in RESUMED and not (edited and form in TRANSLATED):
        own = find_own_call(loaded, choose_call(loaded.session, thread, number), form)
    return (own[0], own[1].number) if own is not None else (loaded, number)


def copy_from(source: str, names: str, settings: Settings) -> CopiedBlocks:
    """Copy blocks, named with commas, of ``SESSION[@CALL]``."""
    session_name, number = split_call(source)
    source_recording = open_recording(session_name, settings)
    return copy_named(source_recording.session, number, [name.strip() for name in names.split(",") if name.strip()])


def should_write(output: Path | None, *, as_json: bool) -> bool:
    """Whether to write the request: not to a terminal, and with `as_json` only to a file."""
    return output not in (None, Path("-")) if as_json else not _goes_to_terminal(output)


def _goes_to_terminal(output: Path | None) -> bool:
    return output is None and sys.stdout.isatty()


def _print_wrapped(line: str) -> None:
    first, *more = safe_text.wrap(safe_text.line(line), width() - _INDENT) or [""]
    write(first)
    for words in more:
        write(" " * _INDENT + words.lstrip())


def curate_session(
    loaded: Loaded,
    thread_and_number: tuple[str, int],
    steps: list[Step],
    edits: list[Edit],
    settings: Settings,
    after: bool,
    drops_blocks: bool = False,
    keep_quoted: bool = False,
    resumed: bool = False,
    applied: Sequence[Edit] = (),
    guard: Guard | None = None,
) -> Curation:
    """Count a call's context and apply `edits` and `steps`.

    - `after`: its context after the answer, where the next request begins.
    - `resumed`: a client will continue the result.
    - `applied`: those of `edits` that are applied already. Their price is left out if others are added, or if the call
      was sent under edits.
    - `drops_blocks`: keep thinking that is no longer valid, for the provider to drop.
    - `keep_quoted`: do not change blocks that later blocks quote. `guard` masks secrets.
    """
    chosen = choose_call(loaded.session, *thread_and_number)
    with counting(settings) as counter:
        book = book_for(loaded.session, counter, settings)
        count_all(book, counter)
        return curate_context(
            book,
            counter,
            chosen,
            steps=steps,
            edits=edits,
            guard=guard,
            under=applied if steps or guard is not None or len(edits) > len(applied) or chosen.call.is_edited else (),
            after=after,
            resumed=resumed,
            drops_blocks=drops_blocks,
            keep_quoted=keep_quoted,
            usable_share=settings.usable_share,
            prices=prices_for(settings),
        )


def prepare_output(
    curation: Curation, loaded: Loaded, form: str, output: Path | None, dry: bool
) -> tuple[WrittenContext, Path | None]:
    """The text to write and its destination, whose folder is created.

    Also note the command that resumes it. If `dry`, the text is empty and nothing is created.
    """
    if dry and (curation.applied.refused or form in (OWN, *RESUMED)):
        return WrittenContext(b""), None
    out = write_context(curation, form, loaded.path)
    if out.name:
        if TARGETS[form].beside:
            note(f"the file must be named {out.name}")
        output = prepare_path(output, out, create=not dry) if output is not None else None
    if form in RESUMED:
        note(f"to resume it: {command_for(form, out, session_path(out, output))}")
    return (replace(out, data=b"") if dry else out), output


def write_request(written: WrittenContext, output: Path | None, source: Path | None) -> None:
    """Print it, or write it to new files of mode 0600."""
    output = None if output == Path("-") else output
    emit(written.data, output)
    emit_beside(written, output, source)
    if output is not None:
        note(f"{len(written.data):,} bytes written to {output}")


_INDENT = 9
"""Cells of the labels of the price tag."""
MAX_LITERALS = 3


def price_lines(curation: Curation, lost: Sequence[str], violations: Sequence[Violation]) -> Iterator[str]:
    """Yield the price tag: counts of edits, size, breakage, prices, losses and refusals."""
    tag, chosen = curation.tag, curation.chosen
    place = f"{chosen.thread} call {chosen.number}{', after its answer' if curation.after else ''}"
    counts = Counter(edit.author if edit.author != "user" else edit.kind for edit in curation.log)
    counts_text = ", ".join(f"{name} {count}" for name, count in counts.items()) or "no edits"
    yield f"{place}: {counts_text}" + (f", {tag.repairs:,} by repair" if tag.repairs else "")
    yield from _size_lines(tag, chosen.call.usage)
    if tag.parts_at is not None:
        where = f", from block {tag.breaks_at + 1:,} on" if tag.breaks_at is not None else ""
        yield f"breaks   {numbers.tokens(tag.broken)} cached tokens{where}"
        yield f"{'apply':<12}{'once':>10}{'per call':>10}{'pays back':>12}"
        yield from (_format_moment(moment) for moment in tag.moments)
    if tag.thinking_lost:
        yield f"lost     {numbers.tokens(tag.thinking_lost)} of thinking after the change"
    if tag.quotes:
        quoted_literals = list(dict.fromkeys(quote.literal for quote in tag.quotes))
        literals = ", ".join(one_line(word)[:60] for word in quoted_literals[:MAX_LITERALS])
        blocks = {by for quote in tag.quotes for by in quote.by}
        yield f"quoted   removed text, by {numbers.many(len(blocks), 'later block')}: {literals}"
    if tag.lost:
        yield "summary  does not mention: " + ", ".join(
            one_line(literal.literal)[:60] for literal in tag.lost[:MAX_LITERALS]
        )
    for failed in tag.rejected:
        yield f"rejected {failed}"
    if tag.without_target:
        edits = numbers.many(tag.without_target, "edit whose target is", "edits whose targets are")
        yield f"asleep   {edits} not in this context"
    if tag.refused:
        yield f"refused  {tag.refused}"
    for violation in violations[:10]:
        yield f"refused  by the provider: {violation.message} @ {violation.path}"
    for line in lost:
        yield f"not carried over: {line}"


def _size_lines(tag: PriceTag, usage: Usage | None) -> Iterator[str]:
    """The request's expected size, its parts, and the call's reported size if different."""
    reported = f"; {numbers.tokens(usage.input)} reported" if usage is not None and usage.input != tag.before else ""
    freed = numbers.signed(-tag.freed)
    yield f"context  {numbers.tokens(tag.before)} -> {numbers.tokens(tag.after)} ({freed}){reported}"
    client, residual = tag.under.client, tag.under.residual
    if client or residual:
        body = f"{numbers.tokens(tag.without.body)} -> {numbers.tokens(tag.under.body)}"
        added = f", and {numbers.tokens(client)} that the client adds" if client else ""
        yield f"body     {body}{added}" + (f", residual {numbers.signed(residual)}" if residual else "")
    if tag.under.back:
        back = numbers.tokens(tag.under.back)
        yield f"back     {back} that the client had stopped sending are included again"


def _format_moment(moment: ApplyMoment) -> str:
    pays_back = (
        "never" if moment.pays_back is None else "at once" if not moment.pays_back else f"{moment.pays_back:,} calls"
    )
    once, later = numbers.signed_money(moment.once), numbers.signed_money(moment.per_call)
    return f"{moment.name:<12}{once:>10}{later:>10}{pays_back if moment.once is not None else '?':>12}"


def curation_json(
    curation: Curation, lost: Sequence[str], violations: Sequence[Violation], data: bytes, form: str
) -> dict[str, Any]:
    tag, chosen = curation.tag, curation.chosen
    return {
        "session": curation.session.about.id,
        "thread": chosen.thread,
        "call": chosen.number or None,
        "after": curation.after,
        "format": form,
        "edits": [to_json(edit) for edit in curation.log],
        "repairs": [to_json(edit) for edit in curation.applied.repairs],
        "tokens": {
            **members(
                tag,
                "before after freed broken body_before=without.body body=under.body client=under.client "
                "residual=under.beyond back=under.back",
            ),
            "reported": chosen.call.usage.input if chosen.call.usage is not None else None,
        },
        "breaks_at_block": None if tag.breaks_at is None else tag.breaks_at + 1,
        "moments": [
            members(m, "name at once_usd=once per_call_usd=per_call pays_back_calls=pays_back") for m in tag.moments
        ],
        "thinking_lost_tokens": tag.thinking_lost,
        "quotes": [{"literal": q.literal, "block": q.position + 1, "by": [p + 1 for p in q.by]} for q in tag.quotes],
        "summary_lost": [{"literal": literal.literal, "quoted_later": literal.quoted} for literal in tag.lost],
        "held": list(tag.rejected),
        "asleep": tag.without_target,
        "refused": tag.refused or None,
        "violations": [{"path": v.path, "message": v.message} for v in violations],
        "lost": list(lost),
        "request": _request_to_json(data),
    }


def _request_to_json(data: bytes) -> Any:
    if not data:
        return None
    try:
        return canonical.loads(data)
    except ValueError:
        return data.decode("utf-8", "replace")
