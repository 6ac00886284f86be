"""How a figure changes along a slider: what a page needs to move it without asking the server."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Steps:
    """One entry per step of a slider; an empty sequence changes nothing."""

    patches: Sequence[dict[int, dict[str, Any]]] = ()
    """Trace number -> what of that trace to replace (x, y, text ...)."""
    variants: Sequence[int] = ()
    """Which of several figures to show."""
    alts: Sequence[str] = ()
    """What the figure shows at this step, in a sentence."""
    notes: Sequence[str] = ()
    """What a saved picture says about this step beside its name: 'alpha 1e-4'."""

    def to_json(self) -> str:
        """As the figure component reads it."""
        return json.dumps(
            {
                "patches": list(self.patches),
                "variants": list(self.variants),
                "alts": list(self.alts),
                "notes": list(self.notes),
            },
            separators=(",", ":"),
        )
