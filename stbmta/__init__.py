"""Estimate many means at once.

Bags of points go in, and each bag's mean (or kernel mean embedding) comes out, shrunk toward the
bags that a test finds similar: ``estimate = W @ naive``.
"""

from pathlib import Path as _Path

__version__ = "0.1.0"

# In a checkout theory/ and validation/ stand beside this folder; let them be found as subpackages there too.
_root = _Path(__file__).resolve().parent.parent
if (_root / "setup.cfg").is_file() and (_root / "theory").is_dir():
    __path__.append(str(_root))
