"""Pages of plov-bench, looked at in a real browser.

  browser.py [--keep FOLDER] PAGE...

Each page is opened from its file, light and dark, as wide as a desk's and a phone's window, and the
browser says where every text and curve of it is: nothing may be empty, stick out, be hard to read, come from outside or be told to the console. Then the first page is
broken in several ways, each of which has to be noticed. Ends with 77 where there is no browser.
--keep leaves screenshots there.
"""

import argparse
import pathlib
import shutil
import sys
import tempfile

from chromium import Browser, find_browser

MEASURE = pathlib.Path(__file__).with_name("measure.js")
WIDTHS = (1400, 390)  # of the window


def findings_of(browser, path, width, scheme):
    """The open page, and what is wrong with it, as sentences."""
    page = browser.open(path.as_uri(), width, scheme)
    try:
        findings = list(page.evaluate(MEASURE.read_text()))
    except RuntimeError as error:
        findings = [f"it cannot be measured: {error}"]
    findings += [f"asked for {url}" for url in page.requests if url != path.as_uri()
                 and not url.startswith("data:")]
    findings += [f"console: {text}" for text in page.console]
    return page, findings


# How a page is broken, and a word of the finding that has to come of it.
BROKEN = (
    ("no height", "</style>", "canvas{height:0!important}</style>", "has no size"),
    ("no curve", "showLine: true", "hidden: true", "shows nothing"),
    ("no names", "display: plot.curves.length > 1", "display: false", "does not name"),
    ("no bars", "td i { display: block;", "td i { display: none;", "is not drawn"),
    ("text like its paper", "--soft: #a3a8b1", "--soft: #333333", "hard to read"),
    ("always light", "prefers-color-scheme: dark", "prefers-color-scheme: none", "is not dark"),
    ("wider than the window", "<main>", '<main style="display:block;width:2000px">', "wider"),
    ("something from outside", "<main>",
     '<img alt="" src="http://127.0.0.1:9/outside.png"><main>', "asked for"),
    ("markup in its data", "\\u003c", "<", "console"),
    ("an error", "</body>", "<script>throw Error('oh')</script></body>", "console"),
)


def check_pages(browser, pages, keep):
    failed = False
    for path in pages:
        for width in WIDTHS:
            for scheme in ("light", "dark"):
                page, findings = findings_of(browser, path, width, scheme)
                print(f"{path.name}, {scheme}, {width} wide: "
                      f"{'good' if not findings else 'NOT GOOD'}")
                for finding in findings:
                    print(f"  {finding}")
                failed = failed or bool(findings)
                if keep:
                    shot = keep / f"{path.stem}-{scheme}-{width}.png"
                    shot.write_bytes(page.screenshot(page.evaluate(
                        "({x: 0, y: 0, width: innerWidth,"
                        " height: document.documentElement.scrollHeight})")))
    return failed


def check_broken(browser, path, folder):
    failed = False
    html = path.read_text()
    for name, text, wrong, word in BROKEN:
        assert text in html, f"{name}: nothing to change"
        broken = folder / "broken.html"
        broken.write_text(html.replace(text, wrong))
        findings = findings_of(browser, broken, WIDTHS[0], "dark")[1]
        noticed = any(word in finding for finding in findings)
        print(f"broken, {name}: {'noticed' if noticed else f'NOT NOTICED, only {findings}'}")
        failed = failed or not noticed
    return failed


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--keep", type=pathlib.Path)
    parser.add_argument("pages", nargs="+", type=pathlib.Path)
    options = parser.parse_args()
    program = find_browser()
    if program is None:
        print("skipped: no chromium-headless-shell; run as root: tests/install.sh test",
              file=sys.stderr)
        return 77
    folder = pathlib.Path(tempfile.mkdtemp(prefix="plov-browser-"))
    try:
        with Browser(program, folder) as browser:
            pages = [path.resolve() for path in options.pages]
            failed = check_pages(browser, pages, options.keep)
            failed = check_broken(browser, pages[0], folder) or failed
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
