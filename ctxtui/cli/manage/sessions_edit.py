"""`ctxtui session rename | tag | archive | subscription | delete`: edit stored sessions."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path

import click

from ctxtui.cli.commands import SESSION
from ctxtui.cli.context import JSON_OPTION, SessionName, config_of, resolve_name
from ctxtui.cli.group import LazyGroup
from ctxtui.cli.manage.db import database_of, open_existing
from ctxtui.cli.output import escape, note, print_result, write
from ctxtui.core.errors import CtxtuiError, NotFound
from ctxtui.services.config.config import Config
from ctxtui.services.counting.pricing import make_call_pricer, prices_for
from ctxtui.services.recordings.identity import source_info
from ctxtui.services.recordings.open_by_name import Named, open_named
from ctxtui.store.sessions.changes import strip_tags
from ctxtui.store.store import Store


@click.group("session", cls=LazyGroup, entries=SESSION, invoke_without_command=True)
@click.pass_context
def session(context: click.Context) -> None:
    """Edit one stored session; ID is its id or the start of one.

    \b
    Example: ctxtui session rename 8f3c "the flaky test"
    Example: ctxtui session archive 8f3c
    """
    if context.invoked_subcommand is None:
        write(context.get_help())


id_argument = click.argument("name", metavar="ID", type=SessionName())


@click.command("rename")
@id_argument
@click.argument("title")
@JSON_OPTION
@click.pass_context
def rename(context: click.Context, name: str, title: str, as_json: bool) -> None:
    """Give a session a new TITLE; "" restores the recording's own title.

    ID is a session's id or the start of one. A session that is not stored yet is imported first.

    \b
    Example: ctxtui session rename 8f3c "the flaky test"
    Example: ctxtui session rename 8f3c ""
    """
    id_ = _stored_id(context, name)
    with open_existing(context) as store:
        store.rename(id_, title)
        now = store.session(id_).title
    print_result(as_json, {"id": id_, "title": now}, f"{escape(id_)}  {escape(now)}")


@click.command("tag")
@id_argument
@click.argument("tags", metavar="TAG...", nargs=-1, required=True)
@click.option("--remove", is_flag=True, help="Remove the tags.")
@JSON_OPTION
@click.pass_context
def tag(context: click.Context, name: str, tags: tuple[str, ...], remove: bool, as_json: bool) -> None:
    """Add tags to a session, or remove them.

    ID is a session's id or the start of one. A session that is not stored yet is imported first.

    \b
    Example: ctxtui session tag 8f3c demo good
    Example: ctxtui session tag 8f3c demo --remove
    """
    names = strip_tags(tags)
    id_ = _stored_id(context, name)
    with open_existing(context) as store:
        store.tag(id_, names, remove=remove)
        now = list(store.session(id_).tags)
    print_result(as_json, {"id": id_, "tags": now}, f"{escape(id_)}  {escape(', '.join(now)) or 'no tags'}")


@click.command("archive")
@id_argument
@click.option("--undo", is_flag=True, help="Show it in the lists again.")
@JSON_OPTION
@click.pass_context
def archive(context: click.Context, name: str, undo: bool, as_json: bool) -> None:
    """Hide a stored session from the lists; it can still be opened by its id.

    \b
    Example: ctxtui session archive 8f3c --undo
    Example: ctxtui session archive 8f3c
    """
    with open_existing(context) as store:
        id_ = store.archive(name, undo=undo)
    print_result(as_json, {"id": id_, "archived": not undo}, f"{escape(id_)}  {'listed again' if undo else 'archived'}")


@click.command("subscription")
@id_argument
@click.option("--undo", is_flag=True, help="Mark it as paid by use.")
@JSON_OPTION
@click.pass_context
def subscription(context: click.Context, name: str, undo: bool, as_json: bool) -> None:
    """Mark a session as paid by a subscription.

    Tokens are then shown first, and money is the list price.

    ID is a session's id or the start of one. A session that is not stored yet is imported first.

    \b
    Example: ctxtui session subscription 8f3c
    Example: ctxtui session subscription 8f3c --undo
    """
    id_ = _stored_id(context, name)
    with open_existing(context) as store:
        store.set_subscription(id_, undo=undo)
    print_result(
        as_json,
        {"id": id_, "subscription": not undo},
        f"{escape(id_)}  {'paid by use' if undo else 'paid by a subscription'}",
    )


@click.command("delete")
@id_argument
@click.option("--yes", is_flag=True, help="Do not ask.")
@JSON_OPTION
@click.pass_context
def delete(context: click.Context, name: str, yes: bool, as_json: bool) -> None:
    """Delete a stored session with its tags and edits.

    The imported recording itself is not deleted.

    On a terminal it asks first; with --json, or without a terminal, --yes is required.

    \b
    Example: ctxtui session delete 8f3c --yes
    Example: ctxtui session delete 8f3c
    """
    with open_existing(context) as store:
        row = store.session(name)
        if not yes:
            if as_json or not sys.stdin.isatty():
                raise CtxtuiError(f"deleting {row.id} was not confirmed", way_out="add --yes")
            click.confirm(f"Delete {escape(row.id)} ({escape(row.title)}, {row.calls} calls)?", abort=True, err=True)
        id_ = store.delete(row.id)
    print_result(as_json, {"id": id_, "deleted": True}, f"{escape(id_)}  deleted")


def _stored_id(context: click.Context, name: str) -> str:
    """The id of the stored session `name`; a recording that is not stored yet is imported."""
    config, path = config_of(context), database_of(context)
    if path.exists():
        with contextlib.suppress(NotFound), open_existing(context) as store:
            return store.resolve(name)
    target = resolve_name(name, config.settings)
    return target.stored or _import(target, config, path)


def _import(target: Named, config: Config, path: Path) -> str:
    loaded = open_named(target, config.settings)
    with Store.open(path) as store:
        id_ = store.import_session(
            loaded.session, source_info(loaded), price=make_call_pricer(prices_for(config.settings))
        )
    note(f"imported {loaded.name} as {id_}")
    return id_
