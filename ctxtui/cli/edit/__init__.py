"""Commands that write a context or a page: curate, repair, export, share, report, scrub, pins."""
