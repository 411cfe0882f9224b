"""SVG charts and the HTML frame of a document, which has their colours."""
