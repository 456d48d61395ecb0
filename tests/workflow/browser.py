"""What is checked of static pages: their links, and how a real browser shows them."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
from collections.abc import Sequence
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")


class _Links(HTMLParser):
    """What a page links to, what it loads, and its anchors."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.anchors: set[str] = set()
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        own = {name: value or "" for name, value in attrs}
        self.anchors |= {own["id"]} if "id" in own else set()
        if tag == "a" and "href" in own:
            self.links.append(own["href"])
        for name in ("src", "srcset", "data", "poster"):
            if name in own:
                self.loaded.append(own[name])
        if tag == "link" and "href" in own:
            self.loaded.append(own["href"])


def faults(site: Path) -> list[str]:
    """Links and loaded files of a folder's pages that lead nowhere, and whatever is loaded from elsewhere."""
    pages = {page: _Links(page) for page in sorted(site.rglob("*.html"))}
    found = []
    for page, own in pages.items():
        for link in own.loaded:
            if urlsplit(link).scheme not in ("", "data"):
                found.append(f"{page}: loaded from elsewhere: {link}")
        for link in [*own.links, *own.loaded]:
            parts = urlsplit(link)
            if parts.scheme:
                continue
            target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
            if not target.is_file() or site.resolve() not in target.parents:
                found.append(f"{page}: no such file: {link}")
            elif parts.fragment and target in pages and parts.fragment not in pages[target].anchors:
                found.append(f"{page}: no such anchor: {link}")
    return found


def plain(page: Path) -> str:
    """The text of a page without tags, its white space single."""
    text = re.sub(r"<[^>]+>", "", page.read_text(encoding="utf-8"))
    return " ".join(html.unescape(text).split())


FRAMES = """<!doctype html><link rel="icon" href="data:,">
{frames}
<pre></pre>
<script>
addEventListener("load", () => {{
  const shown = [...document.querySelectorAll("iframe")].map(frame => frame.contentDocument.documentElement);
  const seen = shown.map(all => [all.scrollWidth, all.outerHTML]);
  document.querySelector("pre").textContent = JSON.stringify(seen);
}});
</script>
"""


def browsed(
    site: Path, pages: Sequence[str], profile: Path, widths: Sequence[int]
) -> tuple[dict[str, list[Any]], list[str]]:
    """Pages of a site as a browser shows them from the file system, in frames of some widths, and what the
    console said: for each page and width the width in pixels that the document takes, and its HTML after
    its scripts have run.

    The pages' content security policy forbids whatever is not their own, so that a request to elsewhere
    stands in the console, too.
    """
    frame = '<iframe src="{}.html" style="width:{}px; height:2000px; border:0"></iframe>'
    frames = site / "frames.html"
    shown = "\n".join(frame.format(page, width) for page in pages for width in widths)
    frames.write_text(FRAMES.format(frames=shown))
    done = subprocess.run(
        [
            *(CHROMIUM or "chromium", "--headless", "--no-sandbox", "--disable-gpu"),
            *("--no-first-run", "--disable-background-networking", "--disable-component-update"),
            *("--disable-sync", f"--user-data-dir={profile}", "--enable-logging=stderr"),
            "--allow-file-access-from-files",  # else a page may not look into its frames
            *("--virtual-time-budget=5000", "--dump-dom", frames.resolve().as_uri()),
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    seen = re.search(r"<pre>(.*)</pre>", done.stdout, re.DOTALL)
    assert seen, done.stdout
    found = iter(json.loads(html.unescape(seen[1])))
    by_page = {page: [next(found) for _ in widths] for page in pages}
    return by_page, re.findall(r"CONSOLE.*", done.stderr)
