"""Whole documents to give away: a report, the lab, what a call sent; self-contained HTML."""
