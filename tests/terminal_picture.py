"""Draw man/terminal.svg, the picture of the README: commands run on the sample in a real terminal.

    python -m tests.terminal_picture          # run the commands and write the picture
    python -m tests.terminal_picture --check  # exit 1 if the picture shows something else than the commands print

The commands run in a pseudo terminal of a fixed size, with a store and a home of their own.
"""

from __future__ import annotations

import fcntl
import io
import os
import pty
import struct
import subprocess
import sys
import tempfile
import termios
from pathlib import Path

from rich.console import Console
from rich.text import Text

ROOT = Path(__file__).parent.parent
PICTURE = ROOT / "man" / "terminal.svg"
COLUMNS, ROWS = 100, 60
COMMANDS = (
    ("conv", "log", "conv-001", "--all", "--graph", "--oneline"),
    ("conv", "merge", "conv-001", "--source", "analysis/security-review", "--target", "main"),
    ("conv", "merge", "conv-001", "--source", "alternative-solution/general-purpose", "--target", "main"),
)
# Without the fonts that rich would load from the network.
FORMAT = """<svg class="rich-terminal" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">
<style>
.{unique_id}-matrix {{ font-family: Menlo, Consolas, "DejaVu Sans Mono", monospace; font-size: {char_height}px; line-height: {line_height}px; }}
{styles}
</style>
<defs><clipPath id="{unique_id}-clip-terminal"><rect x="0" y="0" width="{terminal_width}" height="{terminal_height}"/></clipPath>
{lines}</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""


def run_in_terminal(words: list[str], environment: dict[str, str], directory: str, typed: str = "") -> str:
    """Run a command in a pseudo terminal of COLUMNS x ROWS and return what it printed; `typed` is its input."""
    parent, child = pty.openpty()
    fcntl.ioctl(child, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    process = subprocess.Popen(words, stdin=child, stdout=child, stderr=child, env=environment, cwd=directory)
    os.close(child)
    os.write(parent, typed.encode())
    pieces = []
    try:
        while piece := os.read(parent, 65536):
            pieces.append(piece)
    except OSError:  # the end of the output on Linux
        pass
    os.close(parent)
    process.wait(timeout=60)
    return b"".join(pieces).decode().replace("\r\n", "\n")


def record() -> str:
    """Return prompts and outputs of the commands, with their colors."""
    with tempfile.TemporaryDirectory() as home:
        environment = {
            "HOME": home,
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(ROOT),
            "TERM": "xterm-256color",
            "LANG": "C.UTF-8",
            "SCOPES_PAGER": "cat",
            "TZ": "UTC",
            "SCOPES_STORE": os.path.join(home, "store.git"),
        }
        scopes = [sys.executable, "-m", "scopes"]
        subprocess.run(
            [*scopes, "conv", "import", "--sample"], env=environment, cwd=home, check=True, capture_output=True
        )
        shown = [
            f"$ scopes {' '.join(words)}\n{run_in_terminal([*scopes, *words], environment, home)}" for words in COMMANDS
        ]
    return "\n".join(shown)


def draw(recorded: str) -> str:
    """Return the recorded terminal as an SVG image."""
    console = Console(
        record=True, width=COLUMNS, height=ROWS, file=io.StringIO(), force_terminal=True, color_system="truecolor"
    )
    console.print(Text.from_ansi(recorded), soft_wrap=True)
    return console.export_svg(title="scopes", code_format=FORMAT, unique_id="scopes")


def main(arguments: list[str]) -> int:
    """Write the picture, or with `--check` only compare it."""
    picture = draw(record())
    if "--check" in arguments:
        return int(PICTURE.read_text(encoding="utf-8") != picture)
    PICTURE.write_text(picture, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
