"""Requests and answers as they went over the wire, from whatever recorded them (VCR, HAR, logs)."""

from ctxtui.transcripts.exchange.conversations import Conversations
from ctxtui.transcripts.exchange.decode import Decoded, decode
from ctxtui.transcripts.exchange.pair import Exchange

__all__ = ["Conversations", "Decoded", "Exchange", "decode"]
