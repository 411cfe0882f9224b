"""`ctxtui hold`: list held requests of a relay, and decide about them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import click

from ctxtui.cli.agent.relay_options import hold_rules, rule_options, rules_to_send
from ctxtui.cli.context import JSON_OPTION, config_of
from ctxtui.cli.exit_codes import WrongUse
from ctxtui.cli.output import escape, note, print_result, write, write_json
from ctxtui.core.errors import NotFound, Several
from ctxtui.services.attach.control import ask_all
from ctxtui.services.attach.curated import AppliedEdits, StoredEdits
from ctxtui.services.attach.held_requests import decide
from ctxtui.services.config.paths import attached_dir, database


@click.command("hold")
@click.argument(
    "action",
    type=click.Choice(["list", "show", "on", "off", "release", "apply", "refuse", "answer", "more"]),
    default="list",
    required=False,
)
@click.argument("id_", metavar="[ID]", default="", required=False)
@rule_options("")
@click.option("--text", metavar="TEXT", default="", help="With answer: the answer to give in place of the model's.")
@JSON_OPTION
@click.pass_context
def hold(context: click.Context, /, action: str, id_: str, text: str, as_json: bool, **rule_options_given: Any) -> int:
    """List the held requests of `ctxtui exec` and `ctxtui proxy`, or decide about one.

    Name it by the start of its ID; no ID is needed if only one is held.

    `release` sends it as the program made it, `apply` sends it with the applied edits (without those only staged),
    `refuse` answers the program with an error and sends nothing, `answer` gives the program TEXT as the model's answer
    without asking the model.
    `on` holds requests from now on in all runs: all of them, or those selected by --over-tokens, --over-usd, --on-miss,
    --pattern and so on; `off` returns to the rules of each run's start, but not to --hold. Costs and misses are
    forecast like the inspector's next call. Without a decision a request is sent, with the applied edits, before its
    program would give up; if its answer is streamed, pings keep the program waiting for ten minutes, and `more` adds
    ten.

    With --on-compaction the answer to a client's compaction is held: `show` prints its summary and what that loses,
    `answer` gives the program TEXT as the summary, `refuse` lets it keep its history. Without a decision it is
    released, with the pinned blocks that it lacks.

    \b
    Example: ctxtui hold on --over-usd 0.5
    Example: ctxtui hold --json
    """
    folder = attached_dir()
    if (action == "answer") != bool(text):
        raise WrongUse("`answer` needs --text, and --text needs `answer`", way_out='`ctxtui hold answer --text "..."`')
    rules = rules_to_send(rule_options_given, each=False)
    if rules and action != "on":
        raise WrongUse("rules such as --over-usd need `on`", way_out="`ctxtui hold on --over-usd 0.5`")
    if action not in ("list", "on", "off"):
        held_request = find_held(ask_all(folder, {"do": "list"}), id_)
        if action == "show":
            # Imported late: the tokenizer takes a tenth of a second.
            from ctxtui.cli.agent.held_summary import show_summary

            show_summary(context, held_request, as_json)
            return 0
        stored = _read_edits(context, held_request)
        request_id, edits = str(held_request["id"]), len(stored.applied)
        run = decide(folder, request_id, action, text)
        fields = {"id": request_id, "done": action, "run": run, "edits": edits}
        print_result(as_json, fields, f"{request_id}: {action}")
        if action == "release" and edits and held_request.get("summary") is None:
            note(f"sent unchanged, without {_edits_phrase(edits)}; `ctxtui hold apply` sends it with edits")
        if action == "apply" and stored.staged_count:
            note(f"sent without {_staged_phrase(stored.staged_count)}; {_APPLY_HINT}")
        return 0
    if id_:
        raise WrongUse(f"`{action}` needs no ID: it is for all runs", place=id_)
    if rules:
        # A run's refusal of a rule is not in its answer.
        hold_rules(rule_options_given, each=False)
    runs = list(ask_all(folder, {"do": action, **({"rules": rules} if rules else {})}))
    if action in ("on", "off") and not runs:
        raise NotFound("no program runs under ctxtui, and no relay", way_out="`ctxtui exec -- COMMAND` starts one")
    _list_held(context, runs, as_json)
    return 0


def _list_held(context: click.Context, runs: list[tuple[str, dict[str, Any]]], as_json: bool) -> None:
    held_requests = [
        {**request, "edits": len(_read_edits(context, request).applied)}
        for _, state in runs
        for request in state.get("held", [])
    ]
    if as_json:
        names = ("each", "rules", "keep_warm")
        runs_json = {run: {name: state.get(name) for name in names} for run, state in runs}
        write_json({"held": held_requests, "runs": runs_json})
        return
    for request in held_requests:
        time_left = f"{request['seconds_left']:.0f} s left"
        write(escape(f"{request['id']}  {request['model']}  {_describe_size(request)}  {time_left}  {request['why']}"))
        write(escape(f"    ctxtui open {request['session']}"))
        if request.get("summary") is not None:
            write(escape(f"    ctxtui hold show {request['id']}  (the summary, and what it loses)"))
        elif request["edits"]:
            write(
                escape(f"    ctxtui hold apply {request['id']}  (`release`: without {_edits_phrase(request['edits'])})")
            )
    if not held_requests:
        rule_names = sorted({word for _, state in runs for word in state.get("rules", ())})
        write(
            escape(f"no request is held; active rules: {', '.join(rule_names)}" if rule_names else "no request is held")
        )


def _describe_size(request: dict[str, Any]) -> str:
    if request.get("tokens") is None:
        return f"about {request['about_tokens']:,} tokens"
    usd = f", ${request['usd']:.3f}" if request.get("usd") is not None else ""
    return f"{request['tokens']:,} tokens{usd}"


def _read_edits(context: click.Context, request: dict[str, Any]) -> StoredEdits:
    applied_edits = AppliedEdits(database(config_of(context).settings.data_dir))
    return applied_edits.read(str(request.get("session")), str(request.get("thread")))


def _edits_phrase(count: int) -> str:
    return f"the {count} edits applied to it" if count > 1 else "the edit applied to it"


def _staged_phrase(count: int) -> str:
    return f"{count} edits that are only staged" if count > 1 else "the edit that is only staged"


_APPLY_HINT: Final = "`a` in the inspector applies staged edits before the next request"


def find_held(runs: Iterable[tuple[str, dict[str, Any]]], id_: str) -> dict[str, Any]:
    """The held request `id_`, or the one whose id starts so. Raises `NotFound`, `Several`."""
    held_requests: list[dict[str, Any]] = [request for _, state in runs for request in state.get("held", [])]
    matches = [request for request in held_requests if request["id"] == id_] or [
        request for request in held_requests if str(request["id"]).startswith(id_)
    ]
    if not matches:
        raise NotFound(f"no request {id_} is held" if id_ else "no request is held")
    if len(matches) > 1:
        ids = ", ".join(str(request["id"]) for request in matches)
        raise Several(f"several requests are held: {ids}", way_out="give the id of one")
    return matches[0]
