"""Relays between a client and its provider, and a hook into httpx: they record exchanges."""
