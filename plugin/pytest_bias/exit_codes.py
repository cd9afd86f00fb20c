"""Exit codes of every command, as the README's table has them."""

from typing import Final

EXIT_OK: Final = 0
EXIT_EXCEEDED: Final = 1
EXIT_NOT_MEASURED: Final = 3
EXIT_UNEXPECTED: Final = 3
EXIT_INTERRUPTED: Final = 130
