"""What trees cost: diffing, and analyses that follow a history of edits."""
