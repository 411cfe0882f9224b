"""`ctxtui session rename | tag | archive | delete`: what users do to stored sessions."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path

import click

from ctxtui.cli.commands import SESSION
from ctxtui.cli.context import JSON_OPTION, config_of, named
from ctxtui.cli.group import LazyGroup
from ctxtui.cli.manage.db import database_of, existing
from ctxtui.cli.output import answer, note, shown, write
from ctxtui.core.errors import CtxtuiError, NotFound
from ctxtui.services.config.config import Config
from ctxtui.services.counting.pricing import make_call_pricer, prices_for
from ctxtui.services.recordings.identity import source_info
from ctxtui.services.recordings.open_by_name import Named, open_named
from ctxtui.store.store import Store


@click.group("session", cls=LazyGroup, entries=SESSION, invoke_without_command=True)
@click.pass_context
def session(context: click.Context) -> None:
    """Look after one stored session; ID is its id or the beginning of one.

    \b
    Example: ctxtui session rename 8f3c "the flaky test"
    Example: ctxtui session archive 8f3c
    """
    if context.invoked_subcommand is None:
        write(context.get_help())


id_argument = click.argument("name", metavar="ID")


@click.command("rename")
@id_argument
@click.argument("title")
@JSON_OPTION
@click.pass_context
def rename(context: click.Context, name: str, title: str, as_json: bool) -> None:
    """Give a session another TITLE; "" gives it back the recording's own.

    ID is a session's id or the beginning of one. A session that is not stored yet is imported first.

    \b
    Example: ctxtui session rename 8f3c "the flaky test"
    Example: ctxtui session rename 8f3c ""
    """
    id_ = _stored(context, name)
    with existing(context) as store:
        store.rename(id_, title)
        now = store.session(id_).title
    answer(as_json, {"id": id_, "title": now}, f"{shown(id_)}  {shown(now)}")


@click.command("tag")
@id_argument
@click.argument("tags", metavar="TAG...", nargs=-1, required=True)
@click.option("--remove", is_flag=True, help="Take the tags away.")
@JSON_OPTION
@click.pass_context
def tag(context: click.Context, name: str, tags: tuple[str, ...], remove: bool, as_json: bool) -> None:
    """Add tags to a session, or remove them.

    ID is a session's id or the beginning of one. A session that is not stored yet is imported first.

    \b
    Example: ctxtui session tag 8f3c demo good
    Example: ctxtui session tag 8f3c demo --remove
    """
    id_ = _stored(context, name)
    with existing(context) as store:
        store.tag(id_, tags, remove=remove)
        now = list(store.session(id_).tags)
    answer(as_json, {"id": id_, "tags": now}, f"{shown(id_)}  {shown(', '.join(now)) or 'no tags'}")


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
    with existing(context) as store:
        id_ = store.archive(name, undo=undo)
    answer(as_json, {"id": id_, "archived": not undo}, f"{shown(id_)}  {'listed again' if undo else 'archived'}")


@click.command("subscription")
@id_argument
@click.option("--undo", is_flag=True, help="It was paid by use.")
@JSON_OPTION
@click.pass_context
def subscription(context: click.Context, name: str, undo: bool, as_json: bool) -> None:
    """Mark a session as paid by a subscription: then tokens and share of the window lead, money is what the list says.

    ID is a session's id or the beginning of one. A session that is not stored yet is imported first.

    \b
    Example: ctxtui session subscription 8f3c
    Example: ctxtui session subscription 8f3c --undo
    """
    id_ = _stored(context, name)
    with existing(context) as store:
        store.set_subscription(id_, undo=undo)
    answer(
        as_json,
        {"id": id_, "subscription": not undo},
        f"{shown(id_)}  {'paid by use' if undo else 'paid by a subscription'}",
    )


@click.command("delete")
@id_argument
@click.option("--yes", is_flag=True, help="Do not ask.")
@JSON_OPTION
@click.pass_context
def delete(context: click.Context, name: str, yes: bool, as_json: bool) -> None:
    """Delete a stored session with its tags and edits. The recording it was imported from stays.

    On a terminal it asks first; elsewhere --yes is needed.

    \b
    Example: ctxtui session delete 8f3c --yes
    Example: ctxtui session delete 8f3c
    """
    with existing(context) as store:
        row = store.session(name)
        if not yes:
            if as_json or not sys.stdin.isatty():
                raise CtxtuiError(f"deleting {row.id} was not confirmed", way_out="add --yes")
            click.confirm(f"Delete {shown(row.id)} ({shown(row.title)}, {row.calls} calls)?", abort=True, err=True)
        id_ = store.delete(row.id)
    answer(as_json, {"id": id_, "deleted": True}, f"{shown(id_)}  deleted")


def _stored(context: click.Context, name: str) -> str:
    """The id of the stored session that `name` stands for; a recording that is not stored yet is imported now."""
    config, path = config_of(context), database_of(context)
    if path.exists():
        with contextlib.suppress(NotFound), existing(context) as store:
            return store.resolve(name)
    found = named(name, config.settings)
    return found.stored or _imported(found, config, path)


def _imported(found: Named, config: Config, path: Path) -> str:
    loaded = open_named(found, config.settings)
    with Store.open(path) as store:
        id_ = store.import_session(
            loaded.session, source_info(loaded), price=make_call_pricer(prices_for(config.settings))
        )
    note(f"imported {loaded.name} as {id_}")
    return id_
