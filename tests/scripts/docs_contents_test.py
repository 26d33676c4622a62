"""Every long page of docs/ begins with a list of its contents, which names its headings in their order."""

import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
LONG = 110  # lines


def headings(text):
    """Returns the headings of the second level, without those in blocks of code."""
    outside = re.sub(r"(?ms)^```.*?^```", "", text)
    return re.findall(r"(?m)^## (.+)$", outside)


def anchor(heading):
    """Returns the anchor that a renderer of Markdown gives a heading."""
    kept = re.sub(r"[^\w\- ]", "", heading.lower())
    return kept.replace(" ", "-")


def contents(text):
    """Returns the line with the list of contents that belongs below the title."""
    return "Contents: " + " · ".join(f"[{heading}](#{anchor(heading)})" for heading in headings(text))


class Contents(unittest.TestCase):
    def test_every_long_page_lists_its_headings(self):
        pages = [page for page in sorted((ROOT / "docs").glob("*.md")) if len(page.read_text().splitlines()) >= LONG]
        self.assertGreater(len(pages), 5)
        for page in pages:
            text = page.read_text()
            if len(headings(text)) < 3:
                continue
            with self.subTest(page.name):
                begin = text[:text.index("\n## ")]
                self.assertIn(contents(text), " ".join(begin.split()), "a heading was changed; the line must be: " + contents(text))


if __name__ == "__main__":
    unittest.main()
