"""Import transcripts of other tools as conversations: the import itself, and one package per format in `formats`."""
