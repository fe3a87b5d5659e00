"""The documentation site: it builds without a warning and loads nothing from afar."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest

from elkhound.experiments.cli.main import VERBS

DOCS = Path(__file__).parent.parent / "docs"
README = DOCS.parent / "README.md"

_LOADING = {"script", "img", "iframe", "source", "video", "audio", "embed", "object"}
_STYLE_LOADS = re.compile(r"(?:@import\s+|url\(\s*)['\"]?(?:https?:)?//", re.IGNORECASE)


class Loads(HTMLParser):
    """Collects what a page has a browser fetch; links that a reader clicks are not."""

    def __init__(self) -> None:
        super().__init__()
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        for name in ("src", "data", "srcset", "poster"):
            if tag in _LOADING and given.get(name):
                self.addresses.append(str(given[name]))
        if tag == "link" and given.get("href"):
            self.addresses.append(str(given["href"]))


def fetched(page: str) -> Iterator[str]:
    """The addresses on other machines that a page would be fetched from."""
    loads = Loads()
    loads.feed(page)
    for address in loads.addresses:
        if re.match(r"(?:https?:)?//", address):
            yield address
    yield from _STYLE_LOADS.findall(page)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, as `make docs` builds it: every warning is an error."""
    folder = tmp_path_factory.mktemp("site")
    made = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html"]
    ended = subprocess.run(
        [*made, "-d", str(folder / "trees"), str(DOCS), str(folder / "html")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    return folder / "html"


def test_no_page_needs_a_network(site: Path) -> None:
    pages = [*site.rglob("*.html")]
    assert len(pages) > 30
    for page in pages:
        assert list(fetched(page.read_text(encoding="utf-8"))) == [], page.name
    for style in site.rglob("*.css"):
        assert not _STYLE_LOADS.search(style.read_text(encoding="utf-8")), style.name


@pytest.mark.parametrize(
    ("page", "found"),
    [
        pytest.param('<script src="https://a.b/c.js">', ["https://a.b/c.js"], id="js"),
        pytest.param('<link href="//a.b/c.css">', ["//a.b/c.css"], id="css"),
        pytest.param("<style>@import '//a.b/c.css'", ["@import '//"], id="import"),
        pytest.param('<a href="https://a.b">', [], id="a link is not loaded"),
        pytest.param('<script src="c.js">', [], id="local"),
    ],
)
def test_what_a_browser_would_fetch_is_found(page: str, found: list[str]) -> None:
    assert list(fetched(page)) == found


def test_the_command_line_page_has_every_verb_with_its_example(site: Path) -> None:
    page = (site / "reference" / "command-line.html").read_text(encoding="utf-8")
    text = re.sub(r"<[^>]*>", "", page)
    for verb in VERBS:
        assert f'id="elkhound-{verb}"' in page
        assert f"  elkhound {verb}" in text, verb
    assert "elkhound sweep grid.yaml --cluster tcp://head:8786" in text  # to be copied


def test_the_python_page_has_the_public_nouns(site: Path) -> None:
    page = (site / "reference" / "python.html").read_text(encoding="utf-8")
    for name in (
        "experiments.comparison.compare",
        "model.chip.Chip",
        "model.graph.Graph",
        "model.schedule.ScheduleProblem",
        "model.limits.Limits",
        "model.result.Result",
        "simpy_chip.Score",
    ):
        assert f'id="elkhound.{name}"' in page, name


def test_every_page_that_the_readme_links_is_there() -> None:
    linked = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", README.read_text())
    assert len(linked) > 20
    for target in linked:
        assert (README.parent / target).exists(), target


def test_the_readme_links_every_page() -> None:
    """Reference pages are reached from the site's index."""
    linked = set(re.findall(r"\]\((docs/[^)#]+)", README.read_text()))
    pages = {f"docs/{page.name}" for page in DOCS.glob("*.md")}
    assert pages <= linked
