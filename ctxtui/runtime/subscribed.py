"""Whether the user marked a session as paid by a subscription: then tokens lead, and money is what the list says."""

from __future__ import annotations

import os

from ctxtui.core.errors import CtxtuiError
from ctxtui.runtime.places import database
from ctxtui.runtime.settings import Settings
from ctxtui.runtime.sources import Named


def subscribed(found: Named, settings: Settings) -> bool:
    """Whether the session that `found` names is marked; False where there is no database, or it cannot be asked."""
    path = database(settings.data_dir)
    if not path.exists() or (found.path is None and not found.stored):
        return False
    # Imported here: SQLite is not needed for the first frame.
    from ctxtui.store.store import Store

    file = os.path.abspath(found.path) if found.path is not None else ""
    try:
        with Store.open(path) as store:
            rows = [row for archived in (False, True) for row in store.sessions(archived)]
    except CtxtuiError:
        return False  # whoever needs the database says what is wrong with it; here the mark alone is missing
    return any(row.subscription and (row.id == found.stored or (file and row.path == file)) for row in rows)
