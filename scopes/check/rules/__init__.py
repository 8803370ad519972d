"""The rules of `scopes check`, one file for each group; `registry` lists them."""
