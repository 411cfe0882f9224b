"""Commands that write contexts or pages: curate, repair, export, share, report, scrub, pins."""
