"""The commands that a shell command line runs, as rules read them."""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

RedirectionKind: TypeAlias = Literal["read", "write", "append"]


class Redirection(NamedTuple):
    """A redirection from or to a file, as written, with `~` for $HOME; None if the target is computed.

    text: a computed target with the unknown pieces as written: `/etc/$name`; else empty
    """

    kind: RedirectionKind
    target: str | None
    text: str = ""


ChangeKind: TypeAlias = Literal["write", "copy", "link", "delete", "directory", "restore"]


class Change(NamedTuple):
    """A file that a program changes; a `directory` is made, a `restore` gives it the text of a commit.

    path: resolved, where the directory is known; `DIRECTORY/{}` is any file below a directory
    source: the file that it becomes a copy of, what a link refers to, or the commit if the command names one; None if
        that is not known
    is_tree: a directory counts with all that is below it
    """

    kind: ChangeKind
    path: str
    source: str | None = None
    is_tree: bool = False


class Setting(NamedTuple):
    """A setting of git that applies to one command.

    key: section and name in lower case
    value: None if it is not known
    is_from_file: a file has it that commands of the run wrote
    """

    key: str
    value: str | None
    is_from_file: bool = False


class Command(NamedTuple):
    """One command that a command line runs.

    argv: its words after unwrapping, without quotes; None for a word that the shell computes. Global options of git
        are removed: `git -C x push` is `git push` in the directory x. Globs and `~` stay as written
    text: the source text of the command
    directory: the working directory at this point, may begin with `~`; None if it is unknown
    wrappers: what it was unwrapped from, outermost first, such as `sudo`, `bash -c`, `find -exec`, `git -c KEY=VALUE`
    opaque: why it cannot be read completely, such as `sh runs what it reads from a pipe`; None if it can
    piped_from: argv of the command whose output it reads
    redirections: its files
    words: the words of argv; in a word that the shell computes the unknown pieces are as written: `/tmp/x-$i`
    environment: the variables that were set for it on this line, with None for a value that the shell computes
    code_from: the programs whose output it runs as code, as in `curl ... | sh`
    changes: the files that it writes, deletes or links by its arguments; links that were made before are followed
    settings: of git, from `-c`, `--config-env`, variables, and files that were written; the last one of a key wins
    input: the text of a heredoc, a here-string or a pipe that it reads, with the unknown pieces as written
    own_files: its words and redirections that name files which certainly have only texts of the run
    """

    argv: tuple[str | None, ...]
    text: str
    directory: str | None = None
    wrappers: tuple[str, ...] = ()
    opaque: str | None = None
    piped_from: tuple[str | None, ...] | None = None
    redirections: tuple[Redirection, ...] = ()
    words: tuple[str, ...] = ()
    environment: tuple[tuple[str, str | None], ...] = ()
    code_from: tuple[str, ...] = ()
    input: str = ""
    changes: tuple[Change, ...] = ()
    settings: tuple[Setting, ...] = ()
    own_files: tuple[str, ...] = ()

    @property
    def program(self) -> str | None:
        """The name of the program without its directory; None if the shell computes it."""
        name = self.argv[0] if self.argv else None
        return None if name is None else name.rsplit("/", 1)[-1]
