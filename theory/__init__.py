"""The paper's mathematics as plain functions."""
