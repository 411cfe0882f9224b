"""Ledger, bill, savings, limits."""
