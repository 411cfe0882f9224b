"""Puts ctxtui between a program and its provider: routing, the relay, its recordings."""
