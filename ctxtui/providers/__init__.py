"""Providers: where requests go, as exactly the bytes that are shown, and what comes back, byte for byte."""
