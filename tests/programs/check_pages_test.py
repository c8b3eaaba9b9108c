#!/usr/bin/env python3
"""Tests of scripts/validation/check-pages: a page of a recorded run passes, and each fault of a page is found."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts/validation/check-pages"
sys.path.insert(0, str(SCRIPT.parent / "lib"))
sys.dont_write_bytecode = True
# pylint: disable=wrong-import-position
import browser  # noqa: E402

PICTURE = ('<svg role="img" viewBox="0 0 100 20"><title>t</title><desc>d</desc><text x="{}" y="15">long words</text>'
           '<text x="2" y="15">others</text></svg>')
FAULTS = {
    "console:": "<script>console.log('told')</script>",
    "request:": '<img alt="" src="missing.png"/>',
    "scrolls sideways": '<div style="width: 1000px">wide</div>',
    "wider than paper": "<style>@media print { p { width: 1000px } }</style><p>wide</p>",
    "without a hint": '<div class="scroll" style="overflow: auto"><p style="width: 1000px">wide</p></div>',
    "overlap": PICTURE.format(10),
    "cut:": PICTURE.format(90),
    "skips a level": "<h3>Too deep</h3>",
    "without a caption": "<table><tr><td>1</td></tr></table>",
    "without scope": "<table><caption>c</caption><tr><th>1</th></tr></table>",
    "without title": '<svg role="img"><title></title><desc></desc></svg>',
    "empty column": '<table><caption>c</caption><thead><tr><th scope="col">a</th></tr></thead><tbody><tr><td></td></tr></tbody></table>',
    "word is broken": '<p style="width: 3rem; overflow-wrap: anywhere">all_reduce_of_all</p>',
    "first picture ends at": '<div style="height: 890px"></div>' + PICTURE.format(300),
    "id twice": '<p id="a">1</p><p id="a">2</p>',
    "bytes are more than": "<!--" + 3_000_000 * "x" + "-->",
}


def check(*arguments):
    return subprocess.run([SCRIPT, "--quick", "--build", os.environ["LINKGAIN_BUILD"], *arguments], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)


class CheckPages(unittest.TestCase):
    def test_finds_nothing_on_a_page_of_each_kind(self):
        done = check()
        self.assertEqual(done.returncode, 0, done.stdout)
        for kind in ("2xH200-default", "2xH200-training", "2xH200-kernels", "ddp", "compare", "check", "fleet"):
            self.assertIn(kind, done.stdout)

    def test_finds_each_fault(self):
        with tempfile.TemporaryDirectory() as folder:
            for number, fault in enumerate(FAULTS.values()):
                page = ('<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"/><meta name="viewport" '
                        'content="width=device-width, initial-scale=1"/><link rel="icon" href="data:,"/><title>t'
                        f'</title></head><body><h1>t</h1>{fault}</body></html>')
                pathlib.Path(folder, f"{number:02}.html").write_text(page, encoding="utf-8")
            done = check(*sorted(map(str, pathlib.Path(folder).iterdir())))
        self.assertEqual(done.returncode, 1, done.stdout)
        for number, name in enumerate(FAULTS):
            with self.subTest(name):
                part = next(text for text in done.stdout.split("\n") if text.startswith(f"{number:02}:"))
                start = done.stdout.index(part)
                end = done.stdout.find(f"\n{number + 1:02}:", start)
                self.assertIn(name, done.stdout[start:end if end > 0 else None])


if __name__ == "__main__":
    if browser.find_browser() is None:
        print("skipped: no chromium-headless-shell or chromium is here (apt-get install chromium-headless-shell)")
        sys.exit(77)
    unittest.main()
