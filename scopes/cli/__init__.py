"""The command line: parse, open, resolve, call one operation, show one result. Nothing is decided here."""
