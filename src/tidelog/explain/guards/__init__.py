"""What must never hold or must always hold, whatever changes."""
