"""OpenTelemetry traces of model calls: GenAI conventions, OpenLLMetry's older ones, OpenInference."""

from ctxtui.transcripts.formats.opentelemetry.reader import NAME, reader, sniff

__all__ = ["NAME", "reader", "sniff"]
