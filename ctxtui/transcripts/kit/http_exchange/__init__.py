"""Requests and answers as they went over the wire, from whatever recorded them (VCR, HAR, logs)."""
