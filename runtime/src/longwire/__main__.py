"""`python -m longwire`: the same as the command."""

import sys

from longwire.command.program import main

sys.exit(main())
