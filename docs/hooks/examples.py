"""Shows the examples of docstrings as code, wherever they stand in it."""

import re
from typing import Any

from griffe import Extension, Object


class Examples(Extension):
    """Reads `Example:` as `Examples:`, which the parser knows, and fences examples that stand in the running text."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        """Change the docstring of one object."""
        if obj.docstring:
            text = re.sub(r"^Example:$", "Examples:", obj.docstring.value, flags=re.MULTILINE)
            obj.docstring.value = re.sub(r"^>>> .*(\n.+)*", r"```pycon\n\g<0>\n```", text, flags=re.MULTILINE)
