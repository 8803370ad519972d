"""The verbs on conversations, one file each: repository and plain values in, one frozen Result out."""
