"""Commands on conversations, one file per command: a repository and plain values in, one frozen Result out."""
