"""Check every link inside the built pages: ``python docs/check_links.py build/docs``.

Links to other sites are not followed: the check runs without a network, and must not fail because a site is down.
With a network ``python -m sphinx -b linkcheck docs build/links`` follows them.
"""

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class _Page(HTMLParser):
    """Collect the links and the anchors of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if value is None:
                continue
            if name in ("id", "name"):
                self.anchors.add(value)
            elif name in ("href", "src") and tag in ("a", "img", "link", "script", "iframe"):
                self.links.append(value)


def dead_links(root: Path) -> list[str]:
    """Return the links that lead to no file or to no place in it; links to other sites are left out."""
    pages: dict[Path, _Page] = {}
    for path in root.rglob("*.html"):
        if "_static" in path.parts:  # the theme's templates
            continue
        pages[path] = page = _Page()
        page.feed(path.read_text())
    dead = []
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = path if not parts.path else (path.parent / unquote(parts.path)).resolve()
            place = unquote(parts.fragment)
            if not target.is_file():
                dead.append(f"{path.relative_to(root)}: {link} (no file)")
            elif place and target in pages and place not in pages[target].anchors:
                dead.append(f"{path.relative_to(root)}: {link} (no such place)")
    return dead


def main() -> None:
    """Print dead links; fail if there are any."""
    root = Path(sys.argv[1]).resolve()
    found = dead_links(root)
    print(
        "\n".join(found)
        or f"no dead links among {len(list(root.rglob('*.html')))} pages (other sites not checked)"
    )
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
