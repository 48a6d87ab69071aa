"""What it costs to follow a history: commits, and edits of single statements, under three analyses."""
