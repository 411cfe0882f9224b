"""Prompt caches of providers: rules, and a simulator of what requests read and write."""
