"""Write demo.md from ``stbmta demo``: python docs/measured/make.py."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

DATA = {"fair": "survey, 16 bags of 20", "randhie": "patients, bags of 10", "digits": "digits, 80 bags of 5"}


def main() -> None:
    """Measure and write."""
    found = {}
    for name in DATA:
        with tempfile.TemporaryDirectory() as folder:
            command = [
                "-c",
                "from stbmta.cli import main; main()",
                "demo",
                "--dataset",
                name,
                "--json",
                "--out",
                f"{folder}/x.png",
            ]
            found[name] = json.loads(
                subprocess.run([sys.executable, *command], capture_output=True, check=True).stdout
            )
    lines = ["| method | " + " | ".join(f"{text}: mean | embedding" for text in DATA.values()) + " |"]
    lines.append("|---" * (1 + 2 * len(DATA)) + "|")
    methods = dict.fromkeys(m for name in DATA for m in found[name]["means"])
    for method in methods:
        cells = []
        for name in DATA:
            for what in ("means", "kernel mean embeddings"):
                row = found[name][what].get(method)
                cells.append(
                    "–" if row is None else f"{100 * row['ratio']:.0f} ± {100 * row['standard_error']:.0f}"
                )
        lines.append(f"| {method} | " + " | ".join(cells) + " |")
    (Path(__file__).parent / "demo.md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
