"""Exit codes of all commands, as documented in the README."""

from typing import Final

EXIT_OK: Final = 0
EXIT_EXCEEDED: Final = 1
EXIT_NOT_MEASURED: Final = 3
EXIT_UNEXPECTED: Final = 3
EXIT_INTERRUPTED: Final = 130
