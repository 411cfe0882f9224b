"""Relays between a client and its provider: passes every byte on, and records both directions."""
