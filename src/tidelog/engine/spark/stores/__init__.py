"""Folders of states on any file system that Arrow or fsspec knows, and what commits a state there."""
