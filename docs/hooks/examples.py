"""Makes the examples of docstrings sections of their own: they stand under `Example:`, the parser wants `Examples:`."""

import re
from typing import Any

from griffe import Extension, Object


class Examples(Extension):
    """Reads `Example:` as `Examples:`."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        """Rename the section in the docstring of one object."""
        if obj.docstring:
            obj.docstring.value = re.sub(r"^Example:$", "Examples:", obj.docstring.value, flags=re.MULTILINE)
