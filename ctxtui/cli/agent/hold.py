"""`ctxtui hold`: requests that wait at a relay, and what becomes of them."""

from __future__ import annotations

from typing import Any

import click

from ctxtui.cli.agent.relay_options import rule_options, told_rules
from ctxtui.cli.agent.relay_options import rules as rules_for
from ctxtui.cli.context import JSON_OPTION, config_of
from ctxtui.cli.exit_codes import WrongUse
from ctxtui.cli.output import note, shown, write, write_json
from ctxtui.core.errors import NotFound, Several
from ctxtui.services.attach.control import ask_all
from ctxtui.services.attach.curated import AppliedEdits
from ctxtui.services.attach.held_requests import decide
from ctxtui.services.config.paths import attached_dir, database


@click.command("hold")
@click.argument(
    "action",
    type=click.Choice(["list", "on", "off", "release", "apply", "refuse", "answer", "more"]),
    default="list",
    required=False,
)
@click.argument("id_", metavar="[ID]", default="", required=False)
@rule_options("")
@click.option("--text", metavar="TEXT", default="", help="With answer: what the program is told in the model's place.")
@JSON_OPTION
@click.pass_context
def hold(context: click.Context, /, action: str, id_: str, text: str, as_json: bool, **given: Any) -> int:
    """List the requests that wait in a run of `ctxtui exec`, or decide about one: by the beginning of its ID, or the
    only one.

    `release` lets it leave as its program sent it, `apply` under the edits that are applied by then, `refuse` answers
    the program 403 and sends nothing, `answer` gives it TEXT as the answer of the model, which is not asked. `on` holds
    requests from now on in all runs: every one, or those that --over-tokens, --over-usd, --on-miss or --pattern name;
    `off` none but those that the run's own rules name. Dollars and misses are foretold as the inspector's next call is.
    What nobody decides about leaves before its program would give up, as if it had not been held; of one whose answer
    is a stream the program is kept waiting by pings for ten minutes, and `more` adds ten.

    \b
    Example: ctxtui hold on --over-usd 0.5
    Example: ctxtui hold --json
    """
    folder = attached_dir()
    if (action == "answer") != bool(text):
        raise WrongUse("`answer` and --text go together", way_out='`ctxtui hold answer --text "..."`')
    if action in ("release", "apply", "refuse", "answer", "more"):
        meant = _meant(list(ask_all(folder, {"do": "list"})), id_)
        done, edits = str(meant["id"]), _edits(context, meant)
        run = decide(folder, done, action, text)
        write_json({"id": done, "done": action, "run": run, "edits": edits}) if as_json else write(f"{done}: {action}")
        if action == "release" and edits:
            note(f"it left as its program sent it, without {_counted(edits)}; with them: `ctxtui hold apply`")
        return 0
    rules = told_rules(given, each=False)
    if rules and action != "on":
        raise WrongUse("rules go with `on`", way_out="`ctxtui hold on --over-usd 0.5`")
    if rules:
        rules_for(given, each=False)
    runs = list(ask_all(folder, {"do": action, **({"rules": rules} if rules else {})}))
    if action in ("on", "off") and not runs:
        raise NotFound("no program runs under ctxtui", way_out="`ctxtui exec -- COMMAND` starts one")
    held = [{**one, "edits": _edits(context, one)} for _, told in runs for one in told.get("held", [])]
    if as_json:
        write_json(
            {"held": held, "runs": {run: {name: told.get(name) for name in ("each", "rules")} for run, told in runs}}
        )
        return 0
    for one in held:
        left = f"{one['seconds_left']:.0f} s left"
        write(shown(f"{one['id']}  {one['model']}  {_size(one)}  {left}  {one['why']}"))
        write(shown(f"    ctxtui open {one['session']}"))
        if one["edits"]:
            write(shown(f"    ctxtui hold apply {one['id']}  (under {_counted(one['edits'])}; `release`: without)"))
    if not held:
        on = sorted({word for _, told in runs for word in told.get("rules", ())})
        write(shown(f"no request is held; held are: {', '.join(on)}" if on else "no request is held"))
    return 0


def _size(one: dict[str, Any]) -> str:
    """How large it is: foretold, else about."""
    if one.get("tokens") is None:
        return f"about {one['about_tokens']:,} tokens"
    usd = f", ${one['usd']:.3f}" if one.get("usd") is not None else ""
    return f"{one['tokens']:,} tokens{usd}"


def _edits(context: click.Context, held: dict[str, Any]) -> int:
    """How many edits are applied to the thread of a request: under these it would leave."""
    kept = AppliedEdits(database(config_of(context).settings.data_dir))
    return len(kept.read(str(held.get("session")), str(held.get("thread"))).applied)


def _counted(edits: int) -> str:
    return f"the {edits} edits that are applied to it" if edits > 1 else "the edit that is applied to it"


def _meant(runs: list[tuple[str, dict[str, Any]]], id_: str) -> dict[str, Any]:
    """The held request that is meant. Raises `NotFound`, `Several`."""
    found = [one for _, told in runs for one in told.get("held", []) if str(one["id"]).startswith(id_)]
    if not found:
        raise NotFound(f"no request {id_} is held" if id_ else "no request is held")
    if len(found) > 1:
        ids = ", ".join(str(one["id"]) for one in found)
        raise Several(f"several requests are held: {ids}", way_out="name one")
    return dict(found[0])
