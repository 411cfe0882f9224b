"""What staged edits cost or save in the next requests, and which later blocks quote what goes."""
