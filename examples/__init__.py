"""Agents with context trouble, as their authors describe them: each is made of files that a user could have written."""
