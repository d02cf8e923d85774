"""The paper's experiments, and real data: what ``stbmta reproduce`` runs."""
