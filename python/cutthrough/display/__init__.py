"""Units, tables of text and HTML for readers."""
