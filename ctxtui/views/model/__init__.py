"""The call that is shown, staged edits and previews of blocks, as values that all panes share."""
