"""The language server: programs and analysed source while they are typed."""
