"""The verbs on conversations, one file each: an operation takes a repository and plain values, and returns one frozen Result."""
