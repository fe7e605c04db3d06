"""The extension module: what warpfold/__init__.pyi has, and gradients for warpfold.torch."""

from typing import Any

def __getattr__(name: str) -> Any: ...
