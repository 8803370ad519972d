"""`python -m scopes`, and `python FILE` with this file: the same as the command."""

from __future__ import annotations

import os
import sys

if not __package__:  # started as a file, perhaps without its directory on the path of modules
    _directory = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    if _directory not in sys.path:
        sys.path.insert(0, _directory)

from scopes.cli.main import main

sys.exit(main())
