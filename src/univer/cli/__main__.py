"""`python -m univer.cli`, the same as `univer`."""

import sys

from univer.cli import main

sys.exit(main())
