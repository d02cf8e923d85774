"""Numerical checks of every statement of the theory."""
