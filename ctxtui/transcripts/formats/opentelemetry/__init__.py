"""Reads OpenTelemetry traces of model calls in three conventions.

They are GenAI's, OpenLLMetry's older ones, and OpenInference's.
"""

from ctxtui.transcripts.formats.opentelemetry.reader import NAME, reader, sniff

__all__ = ["NAME", "reader", "sniff"]
