"""The git repository that stores conversations; the only package that imports pygit2. Object ids leave it as str."""
