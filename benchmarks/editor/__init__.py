"""What the language server takes for an edit, as its client sees it."""
