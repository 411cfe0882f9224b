"""Recorded HTTP requests and answers of providers, from any recorder (VCR, HAR, logs)."""
