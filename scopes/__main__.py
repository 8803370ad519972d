"""`python -m scopes`: the same as the command."""

from __future__ import annotations

import sys

from scopes.cli.main import main

sys.exit(main())
