"""Sends requests to providers and local servers, as exactly the bytes that are shown."""
