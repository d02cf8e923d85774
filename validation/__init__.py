"""Numerical checks of every statement of the theory.

``stbmta.validation.validate(folder, scale="quick")`` runs them; see :func:`stbmta.validation.run.validate`.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .run import validate

__all__ = ["validate"]


def __getattr__(name: str) -> Any:
    """Load the checks, which take a while to import, when they are asked for."""
    if name == "validate":
        from .run import validate

        return validate
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
