"""Charts as SVG and the frame of a document; they take their colours from it, and nothing is loaded from anywhere."""
