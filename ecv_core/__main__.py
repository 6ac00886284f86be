"""The command line: `python -m ecv_core`, and `ecv` where the package is installed."""

import gc
import sys


def run() -> int:
    """Run the command of this process's arguments; gives its exit code."""
    # Modules stay: to look for garbage among them is a quarter of what a short command takes.
    gc.disable()
    try:
        from ecv_core.cli import main

        return main()
    except ModuleNotFoundError as missing:
        if (missing.name or "").startswith("ecv_core"):
            raise
        from ecv_core.records.errors import what_to_install

        sentence = what_to_install(missing) or (
            f"the package '{missing.name}' is not installed here; run 'make run' once and use its "
            "Python: .venv/bin/python -m ecv_core"
        )
        print(f"error: {sentence}", file=sys.stderr)
        from ecv_core.cli import code_of_failure

        return code_of_failure()


if __name__ == "__main__":
    sys.exit(run())
