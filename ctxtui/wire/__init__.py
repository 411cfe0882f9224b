"""Converts the JSON and streams of each provider's API to blocks and back, byte for byte; one module a dialect."""
