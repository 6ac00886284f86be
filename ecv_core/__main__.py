"""`python -m ecv_core`: the command line."""

import sys

try:
    from ecv_core.cli import main
except ModuleNotFoundError as missing:
    sys.exit(
        f"error: the package '{missing.name}' is not installed here; run 'make run' once and use "
        "its Python: .venv/bin/python -m ecv_core"
    )

sys.exit(main())
