"""ctxtui's own interchange format: a whole session in JSON lines, each block once."""

from ctxtui.transcripts.formats.ctxtui.layout import NAME
from ctxtui.transcripts.formats.ctxtui.read import CtxtuiReader, sniff
from ctxtui.transcripts.formats.ctxtui.write import lines, write

__all__ = ["NAME", "CtxtuiReader", "lines", "sniff", "write"]
