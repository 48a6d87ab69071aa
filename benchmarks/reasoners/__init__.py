"""Ways to materialize a program and follow its changes, measured side by side."""
