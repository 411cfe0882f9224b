"""Values that all panes share: the call shown, staged edits, previews of blocks."""
