"""Prompt caches of providers: their rules, and a simulator of what each request reads and writes."""
