"""What a command gets: the settings of this run, its streams, the store and the one way to show a result.

Everything heavy is loaded at first use, so that an Invocation exists before anything can fail.
"""

from __future__ import annotations

import os
import sys

from scopes.cli.global_options import COLOR_CHOICES
from scopes.errors import Inaccessible, Invalid, NotFound, Refused, ScopesError
from scopes.loading import load
from scopes.store.discovery import cache_home, choose_store, data_home, find_project_store

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from scopes.render.output import Output
    from scopes.render.view_options import ViewOptions
    from scopes.result import Note, Result
    from scopes.store.config import Config, Setting
    from scopes.store.repository import Repository

PREFIX = "SCOPES_"


class Invocation:
    """One run of one command; `environ` has no empty SCOPES_ variables (empty means unset)."""

    def __init__(self, arguments: list[str], environ: Mapping[str, str]) -> None:
        self.arguments = arguments
        self.environ = {key: value for key, value in environ.items() if value or not key.startswith(PREFIX)}
        self.stdin = sys.stdin
        self.stdout = sys.stdout
        self.stderr = sys.stderr
        self.command = ""
        self.json = "--json" in before_separator(arguments)
        self.color = "auto"
        self.pager = True
        self.hints = True
        self.quiet = False
        self.verbose = False
        self.yes = False
        self.interactive = _is_terminal(self.stdin)
        self.store: str | None = None
        self.settings: tuple[str, ...] = ()
        self._repository: Repository | None = None

    def refuse_broken_text(self) -> None:
        """Refuse arguments that are not valid text in the locale's encoding (reliability A-7).

        Raises:
            Invalid: names the position, counted from 1.
        """
        for position, argument in enumerate(self.arguments, start=1):
            if any("\ud800" <= character <= "\udfff" for character in argument):
                raise Invalid(f"argument {position} is not valid UTF-8: {argument!a}")

    def configure(self, command: str, options: Mapping[str, object]) -> None:
        """Take over the global options; `-C` changes the directory of the process, as in git.

        Raises:
            NotFound: `-C` names no directory.
            Inaccessible: it may not be entered.
        """
        self.command = command
        for directory in _texts(options["directories"]):
            _enter(directory)
        self.settings = _texts(options["settings"])
        for setting in self.settings:
            if not setting.partition("=")[0]:
                raise Invalid(f"-c {setting!a} names no setting", hint="for example: -c scopes.durability=fast")
        self.store = str(options["store"]) if options["store"] is not None else None
        self.color = str(options["color"] or "auto")
        if self.color not in COLOR_CHOICES:
            raise Invalid(f"--color takes {', '.join(COLOR_CHOICES)}, and got {self.color!r}")
        self.json, self.quiet, self.verbose = bool(options["json"]), bool(options["quiet"]), bool(options["verbose"])
        self.pager, self.hints = not options["no_pager"], not options["no_hints"]
        self.yes = bool(options["yes"])
        self.interactive = self.interactive and not options["no_input"]

    @property
    def cwd(self) -> str:
        """The directory that paths are relative to.

        Raises:
            Inaccessible: it was deleted.
        """
        try:
            return os.getcwd()
        except OSError as error:
            raise Inaccessible("the current directory is gone", hint="change to another one, or use -C") from error

    @property
    def store_path(self) -> str:
        """The path of the store that is meant, whether it exists or not."""
        if self.store == "":
            raise Invalid("--store is empty", hint="name the store's directory, or leave the option out")
        return choose_store(
            explicit=self.store,
            environment=self.environ.get("SCOPES_STORE"),
            cwd=self.cwd,
            data_home=data_home(self.environ),
        )

    @property
    def new_store_path(self) -> str:
        """The path where `init` makes a store: as named, else the project's, else the user's."""
        named = self.store or self.environ.get("SCOPES_STORE")
        return self.store_path if named else find_project_store(self.cwd) or self.store_path

    @property
    def index_directory(self) -> str:
        """Where the index of the store that is meant is kept."""
        found: str = load("scopes.index.database:index_directory")(cache_home(self.environ), self.store_path)
        return found

    @property
    def overrides(self) -> dict[str, Setting]:
        """What the environment (`SCOPES_LOCK_TIMEOUT` sets `scopes.lockTimeout`) and `-c` say, by lower-case key."""
        setting = load("scopes.store.config:Setting")
        found: dict[str, Setting] = {}
        for name, value in self.environ.items():
            if name.startswith(PREFIX) and name != "SCOPES_STORE":
                key = "scopes." + name.removeprefix(PREFIX).replace("_", "").lower()
                found[key] = setting(key, value, "environment")
        for text in self.settings:
            key, equals, value = text.partition("=")
            found[key.lower()] = setting(key, value if equals else "true", "flag")
        return found

    @property
    def home(self) -> str:
        """The user's home directory, also where HOME is unset."""
        return os.path.expanduser("~")

    def repository(self, *, create: bool = False) -> Repository:
        """Open the store that is meant, once; with `create` an absent one is made first.

        Raises:
            NotFound: there is none.
            Corrupt, TooNew, Inaccessible: it cannot be read.
        """
        if self._repository is None:
            path = self.store_path
            if create:
                load("scopes.store.init:create_store")(path)
            caller = load("scopes.store.repository:Caller")
            command = load("shlex:join")(["scopes", *self.arguments])
            opened: Repository = load("scopes.store.repository:open_repository")(path, self.overrides)
            opened.caller = caller(actor=opened.config.find("scopes.author") or "user", command=command)
            self._repository = opened
        return self._repository

    def find_repository(self) -> Repository | None:
        """Open the store that is meant; None when there is none yet."""
        try:
            return self.repository()
        except NotFound:
            return None

    def repository_or_refusal(self) -> Repository | ScopesError:
        """Open the store that is meant, or return why that is not possible."""
        try:
            return self.repository()
        except ScopesError as refusal:
            return refusal

    def no_store_notes(self) -> tuple[Note, ...]:
        """Return what a person should know who looks for something where there is no store yet."""
        hint = "create one: scopes init, or start a conversation: scopes conv new"
        return (load("scopes.result:Note")(f"there is no store at {self.store_path} yet", hint),)

    def config(self) -> Config:
        """Return the settings that hold: the store's, or without a store the user's."""
        repository = self.find_repository()
        if repository is not None:
            return repository.config
        files = load("scopes.store.config:user_config")()
        made: Config = load("scopes.store.config:Config")(files, self.overrides, self.store_path)
        return made

    @property
    def committed(self) -> str | None:
        """What was recorded since the last reply, for the word about an interrupt or an error."""
        return None if self._repository is None else self._repository.committed

    def _replied(self) -> None:
        if self._repository is not None:
            self._repository.committed = None

    def output(
        self,
        *,
        nul: bool = False,
        template: str | None = None,
        options: ViewOptions | None = None,
        configured: bool = True,
    ) -> Output:
        """Return the way to show things; what the store configures counts once it is open, unless told otherwise."""
        config = self._repository.config if self._repository is not None and configured else None
        settings = load("scopes.render.output:OutputSettings")(
            json=self.json,
            color=self.color,
            pager=self.pager,
            nul=nul,
            template=template,
            quiet=self.quiet,
            verbose=self.verbose,
            hints=self.hints and (config is None or config.find("scopes.hints") != "false"),
            options=options or load("scopes.render.view_options:DEFAULT_OPTIONS"),
        )
        pager = None if config is None else config.find("scopes.pager") or config.find("core.pager")
        made: Output = load("scopes.render.output:Output")(settings, self.environ, self.stdout, self.stderr, pager)
        return made

    def show(
        self, result: Result, *, nul: bool = False, template: str | None = None, options: ViewOptions | None = None
    ) -> int:
        """Show a result as the options ask for, and return its exit code."""
        self.output(nul=nul, template=template, options=options).show(result)
        self._replied()
        return result.exit_code

    def stream(self, results: Iterable[Result], *, nul: bool = False, template: str | None = None) -> int:
        """Show results as they come, and return 0."""
        self.output(nul=nul, template=template).stream(results)
        self._replied()
        return 0

    def confirm(self, question: str) -> None:
        """Ask before something that cannot be taken back.

        Raises:
            Refused: the answer was no, or there is nobody to ask.
        """
        if self.yes:
            return
        if not self.interactive:
            raise Refused(f"this needs a yes: {question}", hint="repeat the command with --yes")
        self.stderr.write(f"{question} [y/N] ")
        self.stderr.flush()
        if self.stdin.readline().strip().lower() not in {"y", "yes"}:
            raise Refused("nothing was done")


def before_separator(words: Sequence[str]) -> list[str]:
    """Return the words before `--`."""
    return list(words[: words.index("--")]) if "--" in words else list(words)


def _texts(values: object) -> tuple[str, ...]:
    return tuple(map(str, values)) if isinstance(values, (list, tuple)) else ()


def _enter(directory: str) -> None:
    try:
        os.chdir(directory)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise NotFound(f"there is no directory {directory!r}", hint="check the path after -C") from error
    except OSError as error:
        raise Inaccessible(f"cannot change to {directory!r}: {error.strerror}") from error


def _is_terminal(stream: object) -> bool:
    return hasattr(stream, "isatty") and bool(stream.isatty())
