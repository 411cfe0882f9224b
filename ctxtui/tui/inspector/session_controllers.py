"""The controllers of every session screen, recorded or hosted."""

from __future__ import annotations

from ctxtui.tui.inspector.context_edits import ContextEdits
from ctxtui.tui.inspector.controller import Controller, ModelAccess, ScreenAccess
from ctxtui.tui.inspector.controllers.blocks import BlocksController
from ctxtui.tui.inspector.controllers.compactions import CompactionsController
from ctxtui.tui.inspector.controllers.diff import DiffController
from ctxtui.tui.inspector.controllers.edit_log import EditLogController
from ctxtui.tui.inspector.controllers.export import ExportController
from ctxtui.tui.inspector.controllers.marking import MarkController
from ctxtui.tui.inspector.controllers.notes import NotesController
from ctxtui.tui.inspector.controllers.opening import OpeningController
from ctxtui.tui.inspector.controllers.playing import PlayController
from ctxtui.tui.inspector.controllers.policies import PoliciesController
from ctxtui.tui.inspector.controllers.reading import ReadingController
from ctxtui.tui.inspector.controllers.resending import ResendController
from ctxtui.tui.inspector.controllers.rewriting import RewritingController
from ctxtui.tui.inspector.controllers.rules import RulesController
from ctxtui.tui.inspector.controllers.search import SearchController
from ctxtui.tui.inspector.controllers.staging import StagingController
from ctxtui.tui.inspector.controllers.summaries import SummariesController
from ctxtui.tui.inspector.controllers.why import WhyController
from ctxtui.tui.inspector.prompt import SessionPrompt
from ctxtui.tui.inspector.state import InspectorState


def session_controllers(
    state: InspectorState,
    prompt: SessionPrompt,
    access: ScreenAccess,
    edits: ContextEdits,
    pager: str,
    model_access: ModelAccess,
) -> tuple[Controller, ...]:
    """Make the controllers of any session, in the order in which they receive signals."""
    parts = state, prompt, access
    return (
        OpeningController(*parts),
        BlocksController(*parts, pager),
        DiffController(*parts),
        NotesController(*parts),
        PlayController(*parts),
        ReadingController(*parts),
        SearchController(*parts),
        MarkController(*parts, edits),
        EditLogController(*parts, edits),
        StagingController(*parts, edits),
        RewritingController(*parts, edits),
        PoliciesController(*parts, edits),
        CompactionsController(*parts, edits),
        RulesController(*parts),
        WhyController(*parts, edits),
        ExportController(*parts, edits, pager),
        SummariesController(*parts, edits, model_access),
        ResendController(*parts, edits, model_access),
    )
