"""Pages of plov-bench, looked at in a real browser.

  browser.py [--keep FOLDER] PAGE...

Each page is opened from its file, light and dark, and the browser says where every text and every
curve of it is: nothing may be empty, cover its neighbour, stick out, be hard to read, come from
outside or be told to the console. Then the first page is broken in several ways, each of which has
to be noticed. Ends with 77 where there is no browser. --keep leaves screenshots there.
"""

import argparse
import pathlib
import shutil
import struct
import sys
import tempfile
import zlib

from chromium import Browser, find_browser

MEASURE = pathlib.Path(__file__).with_name("measure.js")
WIDTHS = (1280, 700)  # of the window


def findings_of(browser, path, width, scheme, pixels):
    """The open page, and what is wrong with it, as sentences. pixels: whether to look at them."""
    page = browser.open(path.as_uri(), width, scheme)
    measured = page.evaluate(MEASURE.read_text())
    findings = list(measured["problems"])
    findings += [f"asked for {url}" for url in page.requests if url != path.as_uri()
                 and not url.startswith("data:")]
    findings += [f"console: {text}" for text in page.console]
    for picture in measured["pictures"] if pixels else ():
        findings += look_at(page, picture)
    return page, findings


def look_at(page, picture):
    """What is wrong with a picture's pixels: they have to show each series' colour."""
    if picture["width"] < 1 or picture["height"] < 1:
        return []  # told already
    png = page.screenshot({key: picture[key] for key in ("x", "y", "width", "height")})
    colors = colors_of(png)
    found = []
    if len(colors) < 3:
        found.append(f"picture '{picture['name']}' is blank: {len(colors)} colours")
    for color in picture["colors"]:
        if tuple(color) not in colors:
            found.append(f"picture '{picture['name']}' shows nothing of the colour {color}")
    return found


def colors_of(png):
    """The colours of a PNG's pixels, 8 bits a channel, not interlaced."""
    assert png[:8] == b"\x89PNG\r\n\x1a\n", "no PNG"
    at, data = 8, b""
    while at < len(png):
        size, kind = struct.unpack(">I4s", png[at:at + 8])
        body = png[at + 8:at + 8 + size]
        if kind == b"IHDR":
            width, height, bits, form, _, _, interlaced = struct.unpack(">IIBBBBB", body)
            assert bits == 8 and form in (2, 6) and not interlaced, (bits, form, interlaced)
            step = 3 if form == 2 else 4
        elif kind == b"IDAT":
            data += body
        at += 12 + size
    raw, row_bytes = zlib.decompress(data), width * step
    colors, above = set(), bytearray(row_bytes)
    for row in range(height):
        start = row * (row_bytes + 1)
        line = unfiltered(raw[start], raw[start + 1:start + 1 + row_bytes], above, step)
        colors.update(zip(line[0::step], line[1::step], line[2::step]))
        above = line
    return colors


def unfiltered(kind, line, above, step):
    """One row of a PNG as it was before its filter. Source: PNG specification, section 9."""
    if kind == 0:
        return line
    if kind == 2:
        return bytes(map(lambda value, up: value + up & 255, line, above))
    line = bytearray(line)
    for i, value in enumerate(line):
        left = line[i - step] if i >= step else 0
        up = above[i]
        if kind == 1:
            add = left
        elif kind == 3:
            add = (left + up) // 2
        else:
            corner = above[i - step] if i >= step else 0
            guess = left + up - corner
            add = min((abs(guess - left), 0, left), (abs(guess - up), 1, up),
                      (abs(guess - corner), 2, corner))[2]
        line[i] = (value + add) & 255
    return line


# How a page is broken, and a word of the finding that has to come of it.
BROKEN = (
    ("no height", lambda html: html.replace("</style>\n</head>", ".plot{height:0!important}"
                                            "</style>\n</head>"), "has no size"),
    ("labels upon each other", lambda html: html.replace("text-anchor=\"end\"",
                                                         "text-anchor=\"end\" font-size=\"60\"")
     .replace("font:12px", "font-family:"), "covers"),
    ("labels outside", lambda html: html.replace("<text class=\"title\" x=\"",
                                                 "<text class=\"title\" x=\"9"), "sticks out"),
    ("no curve", lambda html: html.replace("<polyline class", "<polyline visibility=\"hidden\" class")
     .replace("<circle class", "<circle visibility=\"hidden\" class")
     .replace("<rect class=\"s", "<rect visibility=\"hidden\" class=\"s"), "shows nothing"),
    ("text like its paper", lambda html: html.replace(".plot text{fill:currentColor}",
                                                      ".plot text{fill:#888}"
                                                      ".plot .paper{fill:#999!important}"),
     "hard to read"),
    ("always light", lambda html: html.replace("prefers-color-scheme:dark",
                                               "prefers-color-scheme:none"), "is not dark"),
    ("wider than the window", lambda html: html.replace("<h1>", "<h1 style=\"width:2000px\">"),
     "wider"),
    ("something from outside", lambda html: html.replace(
        "<h1>", "<img alt=\"\" src=\"http://127.0.0.1:9/outside.png\"><h1>"), "asked for"),
    ("an error", lambda html: html.replace("</body>", "<script>throw Error('oh')</script></body>"),
     "console"),
)


def check_pages(browser, pages, keep):
    failed = False
    for path in pages:
        for width in WIDTHS:
            for scheme in ("light", "dark"):
                pixels = (width, scheme) == (WIDTHS[0], "light")  # which take seconds
                page, findings = findings_of(browser, path, width, scheme, pixels)
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
    for name, change, word in BROKEN:
        html = path.read_text()
        broken = folder / "broken.html"
        broken.write_text(change(html))
        assert broken.read_text() != html, f"{name}: nothing to change"
        findings = findings_of(browser, broken, WIDTHS[0], "dark", word == "shows nothing")[1]
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
