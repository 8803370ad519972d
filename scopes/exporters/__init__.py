"""Export of conversations: one module per format, `export` to choose one, `atomic_save` to write the files."""
