"""Every method side by side, with what each must show: what ``stbmta compare`` runs."""
