"""mini-SWE-agent."""

from __future__ import annotations

import json

from tests.clients.client import CURATED, RESUMED, Client, Command
from tests.clients.lab import Lab

_ANEW = "it begins every run anew"


def _asked(lab: Lab, prompt: str) -> Command:
    return [lab.client.program("mini"), "-m", "anthropic/claude-sonnet-4-5", "-y", "--exit-immediately", "-t", prompt]


MINI_SWE_AGENT = Client(
    name="mini-swe-agent",
    env={
        "ANTHROPIC_API_KEY": "any",
        "ANTHROPIC_API_BASE": "{url}",
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        "MSWEA_CONFIGURED": "true",
        "MSWEA_SILENT_STARTUP": "1",
    },
    ask=_asked,
    again=None,
    recordings="home/.config/mini-swe-agent/last_mini_run.traj.json",
    spent=lambda recording: float(json.loads(recording.read_text())["info"]["model_stats"]["instance_cost"]),
    first="run `cat a.txt` then run `sh gate.sh 1` then run `cat b.txt` then run `sh gate.sh 2` then run "
    "`echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT`",
    last="run `ls` then run `echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT`",
    lacks={CURATED: _ANEW, RESUMED: _ANEW},
)
