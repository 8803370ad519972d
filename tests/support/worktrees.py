"""Real git repositories of a user, for tests of what scopes reads in them and of the hooks that it adds."""

from __future__ import annotations

import os
import subprocess


class Project:
    """A repository of a user with a working tree; `git` runs the real program, with the user's configuration off."""

    def __init__(self, directory, *, create=True):
        self.directory = os.path.realpath(directory)
        if create:
            os.makedirs(self.directory, exist_ok=True)
            self.git("init", "-q", "-b", "main")

    def git(self, *words, check=True, **variables):
        """Run git and return its output without the last newline; fail if git does."""
        return self.run(["git", *words], check=check, **variables).stdout.rstrip("\n")

    def run(self, words, *, check=True, stdin=None, **variables):
        """Run a program in the working tree, with these environment variables beside those of the test."""
        environment = {
            **os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "GIT_AUTHOR_NAME": "alice",
            "GIT_AUTHOR_EMAIL": "alice@example.org", "GIT_COMMITTER_NAME": "alice", "GIT_EDITOR": "true",
            "GIT_COMMITTER_EMAIL": "alice@example.org", **variables,
        }  # fmt: skip
        done = subprocess.run(
            words, cwd=self.directory, env=environment, input=stdin, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0 or not check, done.stdout + done.stderr
        return done

    def write(self, path, text):
        """Write a file of the working tree."""
        full = os.path.join(self.directory, path)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "w", encoding="utf-8") as file:
            file.write(text)
        return full

    def commit(self, subject, *words, path=None, **variables):
        """Change a file, commit it, and return the id of the commit."""
        self.write(path or f"{subject.split()[0]}.txt", f"{subject}\n")
        self.git("add", "-A")
        self.git("commit", "-q", "-m", subject, *words, **variables)
        return self.head()

    def head(self):
        return self.git("rev-parse", "HEAD")
