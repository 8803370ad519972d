"""The Python API behind `import scopes`: a store and its conversations, with the operations as methods."""
