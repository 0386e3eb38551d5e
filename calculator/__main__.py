"""`python -m calculator` is `kvcalc`."""

import sys

from calculator.cli import main

sys.exit(main())
