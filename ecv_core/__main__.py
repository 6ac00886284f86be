"""`python -m ecv_core`: the command line."""

import sys

from ecv_core.cli import main

sys.exit(main())
