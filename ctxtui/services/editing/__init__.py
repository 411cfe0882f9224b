"""Edits of an open session: staging, pricing for the next request, storage, export."""
