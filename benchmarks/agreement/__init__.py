"""How far the analyses of names agree with pyflakes, and why they differ where they do."""
