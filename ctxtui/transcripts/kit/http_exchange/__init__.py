"""Requests and answers as they went over the wire, whatever recorded them (VCR, HAR, logs)."""

from ctxtui.transcripts.kit.http_exchange.conversations import Conversations
from ctxtui.transcripts.kit.http_exchange.decode import Decoded, decode
from ctxtui.transcripts.kit.http_exchange.pair import Exchange

__all__ = ["Conversations", "Decoded", "Exchange", "decode"]
