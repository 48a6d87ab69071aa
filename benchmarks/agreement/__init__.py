"""How far our analyses agree with other tools, and why they differ where they do."""
