"""Puts ctxtui between a program and its provider: which variables lead it there, the relay, what it recorded."""
