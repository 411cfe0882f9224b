"""What keys do in the inspector: one controller for each job, such as dropping blocks or setting notes."""
