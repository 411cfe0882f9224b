"""Provider JSON and server-sent events to and from the core, losslessly; one file per dialect."""
