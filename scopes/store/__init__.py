"""The git object database that holds conversations: the only package that imports pygit2; ids leave it as str."""
