"""Requests and answers as they went over the wire, whatever recorded them (VCR, HAR, logs)."""
