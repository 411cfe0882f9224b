"""Documents to give away: self-contained HTML with charts as SVG, no script, nothing loaded from anywhere."""
