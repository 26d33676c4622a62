"""Checks in a browser that a report can be used with the keyboard, with a screen reader and with poor sight: names of
elements, focus and contrast."""

import itertools
import pathlib
import shutil
import tempfile
import unittest

from harness import Case, paretoken
from pages import Browser

# Finds the elements that the keyboard reaches, in the order of the document.
FOCUSABLE = """
const focusable = [...document.querySelectorAll('a[href], button, input, select, summary, [tabindex]')]
    .filter(element => element.tabIndex >= 0 && !element.disabled && element.checkVisibility({ checkVisibilityCSS: true }));
"""

# Finds the name that a screen reader reads out for an element, by those rules of the standard that reports need.
NAMES = """
function nameOf(element) {
    const by = (element.getAttribute('aria-labelledby') || '').split(' ').filter(Boolean)
        .map(id => document.getElementById(id)?.textContent.trim() || '').join(' ');
    return by || element.getAttribute('aria-label') || element.closest('label')?.textContent.trim()
        || (element.tagName === 'INPUT' ? '' : element.textContent.trim()) || element.getAttribute('title') || '';
}
"""

UNNAMED = FOCUSABLE + NAMES + """
const named = [...focusable, ...document.querySelectorAll('canvas, section, [role=region], table')];
return named.filter(element => element.tagName !== 'TABLE' && !nameOf(element)).map(element => element.outerHTML.slice(0, 160))
    .concat([...document.querySelectorAll('fieldset:not([hidden])')].filter(set => !set.querySelector('legend')?.textContent.trim())
        .map(set => set.outerHTML.slice(0, 160)));
"""

# Finds violations of the rules that the checker axe calls duplicate-id, aria-valid-attr-value, heading-order,
# html-has-lang, empty-table-header and scrollable-region-focusable.
STRUCTURE = """
const wrong = [];
const ids = [...document.querySelectorAll('[id]')].map(element => element.id);
for (const id of new Set(ids)) if (ids.filter(other => other === id).length > 1) wrong.push(`two elements have the id ${id}`);
for (const attribute of ['aria-labelledby', 'aria-describedby', 'aria-controls'])
    for (const element of document.querySelectorAll(`[${attribute}]`))
        for (const id of element.getAttribute(attribute).split(' '))
            if (!document.getElementById(id)) wrong.push(`${attribute}=${id} names nothing`);
if (document.querySelectorAll('h1').length !== 1) wrong.push('there must be one h1');
let level = 1;
for (const heading of document.querySelectorAll('h1, h2, h3, h4, h5, h6')) {
    const own = Number(heading.tagName[1]);
    if (own > level + 1) wrong.push(`h${own} after h${level}: ${heading.textContent.trim()}`);
    if (!heading.textContent.trim()) wrong.push('an empty heading');
    level = own;
}
if (!document.documentElement.lang) wrong.push('the page has no language');
if (document.querySelectorAll('main').length !== 1) wrong.push('there must be one main');
for (const cell of document.querySelectorAll('thead th')) if (!cell.textContent.trim()) wrong.push('a column has no title');
for (const element of document.querySelectorAll('main *')) {
    const style = getComputedStyle(element);
    const scrolls = ['auto', 'scroll'].includes(style.overflowX) && element.scrollWidth > element.clientWidth + 1;
    if (scrolls && element.checkVisibility() && element.tabIndex < 0 && !element.querySelector('button, a[href], input'))
        wrong.push(`scrolls and cannot be focused: ${element.outerHTML.slice(0, 120)}`);
}
return wrong;
"""

# Finds every visible text whose contrast with its background is below 4.5 (WCAG 2.2, level AA).
CONTRAST = """
function channels(colour) {
    const context = channels.context ||= new OffscreenCanvas(1, 1).getContext('2d', { willReadFrequently: true });
    context.clearRect(0, 0, 1, 1);
    context.fillStyle = colour;
    context.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = context.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
}
const over = ([r, g, b, a], [R, G, B]) => [r * a + R * (1 - a), g * a + G * (1 - a), b * a + B * (1 - a), 1];
function backdrop(element) {
    const layers = [];
    for (let at = element; at; at = at.parentElement) layers.push(channels(getComputedStyle(at).backgroundColor));
    return layers.reverse().reduce((below, layer) => over(layer, below), [255, 255, 255, 1]);
}
function luminance([r, g, b]) {
    const linear = [r, g, b].map(v => v / 255).map(v => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
}
function contrast(a, b) {
    const [dark, light] = [luminance(a), luminance(b)].sort((x, y) => x - y);
    return (light + 0.05) / (dark + 0.05);
}
const faint = new Map();
function check(text, colour, behind, where) {
    const ratio = contrast(over(channels(colour), behind), behind);
    if (ratio < 4.5) faint.set(where, `${ratio.toFixed(2)} ${colour} ${where}: ${text.slice(0, 40)}`);
}
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const element = node.parentElement;
    const text = node.textContent.trim();
    if (!text || ['SCRIPT', 'STYLE'].includes(element.tagName) || !element.checkVisibility({ checkVisibilityCSS: true })) continue;
    check(text, getComputedStyle(element).color, backdrop(element), `${element.tagName.toLowerCase()}.${element.className}`);
}
// Words on the charts: titles and ticks are muted, labels of runs are ink or muted.
const root = getComputedStyle(document.documentElement);
for (const name of ['ink', 'muted'])
    for (const canvas of document.querySelectorAll('canvas'))
        check(`--${name}`, root.getPropertyValue(`--${name}`), backdrop(canvas), `canvas words in ${name}`);
return [...faint.values()];
"""


class Accessibility(Case):
    long = True

    @classmethod
    def setUpClass(cls):
        cls.made = pathlib.Path(tempfile.mkdtemp(prefix="paretoken-e2e-"))
        cls.addClassCleanup(shutil.rmtree, cls.made, ignore_errors=True)
        sweeps = []
        for i, profile in enumerate(("sim:llama3-8b/h100/bf16", "sim:llama3-8b/h100/fp8/fp8", "sim:llama3-8b/l40s/fp8")):
            sweeps.append(cls.made / f"s{i}")
            swept = paretoken("sweep", profile, "--virtual", "--concurrency", "1..64", "--isl", 256, "--osl", 64, "--num-prompts",
                              600, "--out", sweeps[-1])
            if swept.returncode != 0:
                raise AssertionError(swept.stderr)
        cls.page = cls.made / "report.html"
        reported = paretoken("report", *sweeps, "--quality", "same", "--slo", "ttft_p95:800", "--what-if", "gpu=h200,weights=fp8",
                             "--out", cls.page)
        if reported.returncode != 0:
            raise AssertionError(reported.stderr)
        planned = paretoken("plan", "--model-card", "llama-3.1-8b", "--gpu", "l40s,h100", "--isl", 1024, "--osl", 256, "--demand",
                            "20rps", "--slo", "ttft_p95:800", "--slo", "tpot_p95:50", "--out", cls.made / "plan")
        if planned.returncode != 0:
            raise AssertionError(planned.stderr)
        cls.pages = (cls.page, cls.made / "plan" / "plan.html")

    def on_every_screen(self, script):
        """What the script finds in a report and a plan on a wide and a narrow screen, in light and in dark, with every detail
        open."""
        found = {}
        with Browser() as browser:
            for page, width, scheme in itertools.product(self.pages, (1280, 390), ("light", "dark")):
                browser.devtools("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1,
                                 mobile=width < 700)
                browser.prefer(scheme)
                browser.open(page)
                browser.evaluate("for (const one of document.querySelectorAll('details')) one.open = true;")
                if wrong := browser.evaluate(script):
                    found[f"{page.name} {width} {scheme}"] = wrong
        return found

    def test_no_page_is_wider_than_the_screen(self):
        wider = "const root = document.scrollingElement; return Math.max(0, root.scrollWidth - root.clientWidth);"
        self.assertEqual(self.on_every_screen(wider), {})

    def test_the_first_line_of_a_plan_is_the_answer(self):
        with Browser() as browser:
            browser.open(self.pages[1])
            self.assertRegex(browser.evaluate("return document.querySelector('h1').textContent"), r"^\d+ × .*\$")

    def test_everything_that_can_be_used_or_read_has_a_name(self):
        self.assertEqual(self.on_every_screen(UNNAMED), {})

    def test_the_structure_is_sound(self):
        self.assertEqual(self.on_every_screen(STRUCTURE), {})

    def test_every_text_stands_out_from_what_is_behind_it(self):
        self.assertEqual(self.on_every_screen(CONTRAST), {})

    def test_a_switched_off_series_can_still_be_read(self):
        switched_off = "for (const button of document.querySelectorAll('.legend button')) button.click();"
        self.assertEqual(self.on_every_screen(switched_off + CONTRAST), {})

    def test_the_keyboard_goes_through_the_page_from_top_to_bottom_and_the_focus_shows(self):
        with Browser() as browser:
            browser.open(self.page)
            self.assertEqual(browser.evaluate("return [...document.querySelectorAll('[tabindex]')].filter(e => e.tabIndex > 0).length"),
                             0, "a positive tabindex breaks the order of the page")
            stops = browser.evaluate(FOCUSABLE + "return focusable.length")
            self.assertGreater(stops, 20)
            seen = []
            for _ in range(stops):
                for kind in ("keyDown", "keyUp"):
                    browser.devtools("Input.dispatchKeyEvent", type=kind, key="Tab", code="Tab", windowsVirtualKeyCode=9)
                seen.append(browser.evaluate("""
                    const element = document.activeElement;
                    const shown = element.tagName === 'INPUT' ? element.nextElementSibling : element;
                    const style = getComputedStyle(shown);
                    const order = [...document.querySelectorAll('*')].indexOf(element);
                    return { tag: element.tagName, order, outline: style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 2 };
                """))
                if seen[-1]["tag"] == "BODY":
                    seen.pop()
                    break
            self.assertGreater(len(seen), 20)
            self.assertEqual([one for one in seen if not one["outline"]], [], "the focus does not show")
            orders = [one["order"] for one in seen]
            self.assertEqual(orders, sorted(orders))
            self.assertEqual(seen[0]["tag"], "A", "the first stop skips to the numbers")

    def test_a_definition_shows_on_focus_and_goes_with_escape(self):
        with Browser() as browser:
            browser.open(self.page)
            found = browser.evaluate("""
                const button = document.querySelector('[data-definition]');
                button.focus();
                const tip = document.getElementById(button.getAttribute('aria-describedby'));
                const shown = !tip.hidden && tip.textContent === button.dataset.definition;
                button.dispatchEvent(new KeyboardEvent('keydown', { key: 'Escape', bubbles: true }));
                return [shown, tip.hidden];
            """)
            self.assertEqual(found, [True, True])

    def test_mfu_says_that_single_digits_are_normal(self):
        with Browser() as browser:
            browser.open(self.page)
            definitions = browser.evaluate(
                "return [...document.querySelectorAll('[data-definition]')].filter(e => e.textContent.startsWith('MFU'))"
                ".map(e => e.dataset.definition)")
            self.assertEqual(len(definitions), 1)
            self.assertIn("Single-digit values are normal while decoding", definitions[0])


if __name__ == "__main__":
    unittest.main()
