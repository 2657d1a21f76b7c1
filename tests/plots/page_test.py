"""Drives a report's page in headless Chromium, from disk: what it says, that nothing of its input is executed, keyboard,
themes, phone width, and accessibility by axe-core. Exit code 77: Chromium, its driver or Selenium is missing.

usage: page_test.py PARABENCH WRITE_REPORT_SAMPLES SCRATCH_FOLDER

Screenshots of every sample stay in the scratch folder, to be looked at.
"""

import base64
import json
import math
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

try:
    import axe_selenium_python
    from selenium import webdriver
    from selenium.webdriver.chrome.options import Options
    from selenium.webdriver.chrome.service import Service
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys
    from selenium.webdriver.support.select import Select
    from selenium.webdriver.support.ui import WebDriverWait
except ImportError as missing:
    print(f"skipped: {missing} (pip: TEST_WHEELS of cmake/dependencies.env)")
    sys.exit(77)

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "plots/figures"))
from looks import PALETTE  # noqa: E402

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")
SAMPLES = ["one", "timelines", "thousand", "failed", "hostile", "two"]
SCROLL_BARS = 2 * 16  # pixels of the page's and of a table's own, which the browser here does not draw


def browser():
    options = Options()
    options.binary_location = CHROMIUM
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--disable-dev-shm-usage"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    return webdriver.Chrome(service=Service(DRIVER), options=options)


class PageTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.driver = browser()
        cls.addClassCleanup(cls.driver.quit)
        cls.driver.set_script_timeout(120)

    def open(self, sample, width=1200, dark=False):
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                                    {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False})
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia",
                                    {"features": [scheme, {"name": "prefers-reduced-motion", "value": "reduce"}]})
        self.driver.get((SCRATCH / sample / "report.html").as_uri())

    def js(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def find(self, selector):
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def shoot(self, name):
        """A screenshot of the whole page, or of its first 6,000 pixels; its size in bytes."""
        width, height = self.js("return [innerWidth, document.documentElement.scrollHeight]")
        clip = {"x": 0, "y": 0, "width": width, "height": min(height, 6000), "scale": 1}
        image = self.driver.execute_cdp_cmd("Page.captureScreenshot", {"captureBeyondViewport": True, "clip": clip})
        data = base64.b64decode(image["data"])
        (SCRATCH / f"{name}.png").write_bytes(data)
        return len(data)

    def open_tables(self):
        """Opens the table of every chart by keyboard; tables are made when the browser says that they were opened."""
        for summary in self.driver.find_elements(By.CSS_SELECTOR, "details summary"):
            summary.send_keys(Keys.ENTER)
        WebDriverWait(self.driver, 60).until(
            lambda _: self.js("return [...document.querySelectorAll('details')].every(d => d.open && d.querySelector('tbody tr'))"))

    def column(self, number):
        return self.js("return [...document.querySelectorAll('#cases tbody tr')].map(row => row.cells[arguments[0]].dataset.v)",
                       number)

    def test_loads_from_disk_without_errors_and_without_network(self):
        for sample in SAMPLES:
            with self.subTest(sample):
                self.driver.get_log("performance")
                self.open(sample)
                self.assertEqual(self.driver.get_log("browser"), [])
                events = [json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")]
                requests = [event["params"]["request"]["url"] for event in events
                            if event["method"] == "Network.requestWillBeSent"]
                self.assertEqual([re.sub(r"#.*", "", url) for url in requests], [(SCRATCH / sample / "report.html").as_uri()])

    def test_text_of_input_is_text(self):
        self.open("hostile")
        self.assertEqual(self.driver.title, "parabench report")
        self.assertEqual(self.js("return document.images.length"), 0)
        self.assertEqual(self.js("return document.scripts.length"), 2)
        self.open_tables()
        self.assertEqual(self.js("return document.images.length"), 0)
        self.assertIn("<img src=x onerror=", self.find("#cases tbody th").get_property("textContent"))
        self.assertIn("</script>", self.find("#breakdown select").get_property("textContent"))

    def test_policy_lets_no_other_script_or_style_in(self):
        self.open("one")
        self.js("""const script = document.createElement('script'); script.textContent = 'window.owned = 1';
                   const image = document.createElement('img'); image.setAttribute('onerror', 'window.owned = 2');
                   image.src = 'x.png'; document.body.append(script, image);""")
        self.assertIsNone(self.js("return window.owned ?? null"))
        refused = [entry for entry in self.driver.get_log("browser") if "Content Security Policy" in entry["message"]]
        self.assertGreaterEqual(len(refused), 2)
        self.assertNotEqual(self.js("return getComputedStyle(document.body).overflowWrap"), "normal", "our own style is let in")

    def test_every_chart_is_an_image_with_a_text_and_a_table(self):
        self.open("timelines")
        for chart in ("parity", "errors", "breakdown", "scaling", "pareto", "grids"):
            with self.subTest(chart):
                images = self.driver.find_elements(By.CSS_SELECTOR, f"[data-chart={chart}] svg[role=img]")
                self.assertTrue(images)
                for image in images:
                    self.assertGreater(len(image.get_attribute("aria-label")), 30)
                    self.assertGreater(self.js("return arguments[0].querySelectorAll('path, rect').length", image), 2)
                self.assertTrue(self.find(f"[data-chart={chart}] details"))
        self.open_tables()

    def test_the_band_holds_errors_of_ten_percent(self):
        self.open("timelines")
        points = [tuple(map(float, point.split(","))) for point in self.find("[data-chart=parity] .band").get_attribute("points").split()]
        above, below = points[0][1] - points[1][1], points[4][1] - points[3][1]  # at the left end and at the right one
        self.assertAlmostEqual(below / above, math.log(1 / 0.9) / math.log(1.1), 3)

    def test_the_text_of_errors_tells_the_largest(self):
        self.open("timelines")
        rows = json.loads((SCRATCH / "timelines/figures.json").read_text(encoding="utf-8"))["rows"]
        texts = [image.get_attribute("aria-label") for image in self.driver.find_elements(By.CSS_SELECTOR, "[data-chart=errors] svg[role=img]")]
        for text, field in zip(texts, ("time_error", "memory_error"), strict=True):
            self.assertIn(f"the largest is {100 * max(abs(row[field]) for row in rows):.1f} percent", text)

    def test_a_small_difference_of_memory_looks_small(self):
        self.open("one")
        ticks = self.js("return [...document.querySelectorAll('[data-chart=pareto] text[text-anchor=end]')].map(t => t.textContent)")
        self.assertGreater(len(ticks), 2)
        self.assertEqual(len(set(ticks)), len(ticks), ticks)

    def test_a_strategy_looks_the_same_in_every_chart(self):
        legends = """return ['parity', 'scaling', 'pareto'].map(chart => [...document.querySelectorAll(`[data-chart=${chart}] .legend li`)].map(item => {
            const [shape, sign] = item.querySelectorAll('path');
            return [item.textContent, shape.getAttribute('fill') + shape.getAttribute('d'), sign?.getAttribute('d') ?? ''];
          }))"""
        for sample in ("timelines", "thousand", "two"):
            with self.subTest(sample):
                self.open(sample)
                parity, *others = self.js(legends)
                of_strategy = {name: look for name, look, _ in parity}
                for legend in others:
                    self.assertGreaterEqual(len(legend), 2)
                    for name, look, _ in legend:
                        self.assertEqual(look, of_strategy[re.split(r"[/ ]", name)[0]], name)
                    self.assertEqual(len({(look, sign) for _, look, sign in legend}), len(legend), "lines are told apart")

    def test_a_strategy_looks_the_same_in_every_report_and_on_paper(self):
        order = strategies()
        looks = {}
        for sample in ("timelines", "two", "thousand"):
            self.open(sample)
            for name, colour, shape in self.js("""return [...document.querySelectorAll('[data-chart=parity] .legend li')].map(
                item => [item.textContent, item.querySelector('path')?.getAttribute('fill'), item.querySelector('path')?.getAttribute('d')])"""):
                if name not in order:  # what a hollow mark means
                    continue
                self.assertEqual(looks.setdefault(name, (colour, shape)), (colour, shape), f"{name} in {sample}")
                self.assertEqual(colour, PALETTE[order.index(name) % len(PALETTE)], f"{name} on paper")
        self.assertGreater(len(looks), len(PALETTE))
        self.assertEqual(len(set(looks.values())), len(looks), "more strategies than colours are told apart")

    def test_draws_a_span_for_every_operation_of_both_halves(self):
        self.open("timelines")
        select = Select(self.find("[data-chart=grids] select"))
        select.select_by_visible_text("resnet18/cifar10-synthetic/data-parallel/np:2/batch:32")
        titles = self.js("return [...document.querySelectorAll('[data-chart=grids] svg[role=img] g title')].map(t => t.textContent)")
        for half in ("predicted", "measured"):
            for rank in (0, 1):
                for kind in "FB":
                    for micro in range(4):
                        self.assertTrue(any(t.startswith(f"{half}, rank {rank}: {rank}{kind}{micro}, ") for t in titles))
        ends = [float(x) for x in self.js(
            "return [...document.querySelectorAll('[data-chart=grids] svg[role=img] g rect:first-of-type')]"
            ".map(r => Number(r.getAttribute('x')) + Number(r.getAttribute('width')))")]
        half = len(ends) // 2
        self.assertAlmostEqual((max(ends[half:]) - 40) / (max(ends[:half]) - 40), 1.15, 2, "one scale of time for both")

    def test_sorts_by_keyboard(self):
        self.open("thousand")
        heads = self.driver.find_elements(By.CSS_SELECTOR, "#cases thead th")
        self.assertEqual([head.get_attribute("aria-sort") for head in heads], ["none"] * len(heads))
        button = heads[3].find_element(By.TAG_NAME, "button")
        button.send_keys(Keys.ENTER)
        self.assertEqual(heads[3].get_attribute("aria-sort"), "ascending")
        values = [float(v) for v in self.column(3) if v is not None]
        self.assertEqual(values, sorted(values))
        self.assertEqual(self.column(3)[len(values):], [None] * (1000 - len(values)), "missing ones come last")
        button.send_keys(Keys.SPACE)
        self.assertEqual(heads[3].get_attribute("aria-sort"), "descending")
        descending = [float(v) for v in self.column(3) if v is not None]
        self.assertEqual(descending, values[::-1])
        self.assertIsNone(self.column(3)[-1])

    def test_filters_by_keyboard(self):
        self.open("thousand")
        self.find("#filter").send_keys("gpipe NP:4")
        rows = [row for row in self.js("return [...document.querySelectorAll('#cases tbody tr:not([hidden])')].map(r => r.textContent)")]
        self.assertGreater(len(rows), 5)
        self.assertTrue(all("gpipe" in row and "np:4" in row for row in rows))
        self.assertEqual(self.find("#shown").text, f"{len(rows)} of 1000 shown")
        self.find("#filter").clear()
        self.find("#filter").send_keys("x", Keys.BACKSPACE)
        self.find("#only-counting").send_keys(Keys.SPACE)
        self.assertEqual(self.find("#shown").text, "960 of 1000 shown")

    def test_tab_reaches_every_control(self):
        self.open("timelines")
        reached = set()
        self.js("document.body.focus()")
        for _ in range(120):
            self.driver.switch_to.active_element.send_keys(Keys.TAB)
            reached.add(self.js("const e = document.activeElement; return e.id || e.closest('[data-chart]')?.dataset.chart || e.textContent"))
        for control in ("theme", "filter", "only-counting", "breakdown", "scaling", "pareto", "grids", "Measured step"):
            self.assertIn(control, reached)

    def test_choosing_a_case_redraws_and_keeps_the_focus(self):
        self.open("thousand")
        select = Select(self.find("[data-chart=breakdown] select"))
        name = "resnet50/imagenet-synthetic/gpipe/np:4/batch:32"
        select.select_by_visible_text(name)
        self.assertIn(name, self.find("[data-chart=breakdown] svg[role=img]").get_attribute("aria-label"))
        self.assertEqual(self.js("return document.activeElement.tagName"), "SELECT")

    def test_light_and_dark(self):
        ground = "return getComputedStyle(document.body).backgroundColor"
        for dark in (False, True):
            self.open("timelines", dark=dark)
            before = self.js(ground)
            self.assertEqual(sum(int(part) for part in re.findall(r"\d+", before)[:3]) < 384, dark)
            self.assertGreater(self.shoot(f"timelines-{'dark' if dark else 'light'}"), 50_000)
            self.find("#theme").send_keys(Keys.ENTER)
            after = self.js(ground)
            self.assertNotEqual(before, after)
            self.assertEqual(sum(int(part) for part in re.findall(r"\d+", after)[:3]) < 384, not dark)

    def test_fits_a_phone(self):
        for sample in SAMPLES:
            for dark in (False, True):
                with self.subTest(sample=sample, dark=dark):
                    self.open(sample, width=360, dark=dark)
                    self.assertEqual(self.js("return document.documentElement.scrollWidth"), 360)
                    wide = self.js("return [...document.querySelectorAll('svg')].filter(s => s.getBoundingClientRect().right > 360).length")
                    self.assertEqual(wide, 0)
                    self.assertGreater(self.shoot(f"{sample}-360-{'dark' if dark else 'light'}"), 20_000)

    def test_the_table_of_cases_is_seen_whole_on_a_desk(self):
        wide = ("return ['scrollWidth', 'clientWidth'].map(name => document.querySelector('#cases').closest('.scroll')[name])")
        for sample in ("one", "timelines", "thousand", "two"):
            for width in (1280, 1440, 1920):
                with self.subTest(sample=sample, width=width):
                    self.open(sample, width=width - SCROLL_BARS)
                    content, box = self.js(wide)
                    self.assertLessEqual(content, box)
                    self.assertGreater(box, width - SCROLL_BARS - 40, "the window's width is used")
        self.shoot("two-1920")

    def test_a_phone_shows_numbers_and_that_there_are_more(self):
        for sample in ("timelines", "two"):
            with self.subTest(sample):
                self.open(sample, width=390)
                heads = self.js("return [...document.querySelectorAll('#cases thead th')].map(h => [h.textContent, h.getBoundingClientRect().right])")
                seen = [text for text, right in heads if right <= 390]
                self.assertIn("Predicted step", seen)
                self.assertIn("Measured step", seen)
                hint = "return getComputedStyle(document.querySelector('#cases caption'), '::after').content"
                self.assertIn("scroll sideways", self.js(hint))
                self.shoot(f"{sample}-390")
                self.open(sample, width=1280)
                self.assertEqual(self.js(hint), "none")

    def test_text_of_charts_stays_inside(self):
        for sample, width in (("thousand", 1200), ("thousand", 360), ("timelines", 360), ("one", 360), ("two", 800)):
            with self.subTest(sample=sample, width=width):
                self.open(sample, width=width)
                outside = self.js("""return [...document.querySelectorAll('svg[role=img]')].flatMap(svg => {
                    const box = svg.getBoundingClientRect();
                    return [...svg.querySelectorAll('text')].filter(text => {
                      const own = text.getBoundingClientRect();
                      return own.left < box.left - 1 || own.right > box.right + 1 || own.bottom > box.bottom + 1;
                    }).map(text => text.textContent);
                  });""")
                self.assertEqual(outside, [])

    def test_axe_finds_no_serious_violation(self):
        axe = (pathlib.Path(axe_selenium_python.__file__).parent / "node_modules/axe-core/axe.min.js").read_text(encoding="utf-8")
        for sample in ("one", "timelines", "failed", "hostile"):
            for dark in (False, True):
                with self.subTest(sample=sample, dark=dark):
                    self.open(sample, width=800, dark=dark)
                    self.open_tables()
                    self.js(axe)
                    found = self.driver.execute_async_script("axe.run().then(arguments[arguments.length - 1])")
                    self.assertGreater(len(found["passes"]), 10)
                    serious = [(v["id"], [n["html"][:120] for n in v["nodes"][:3]]) for v in found["violations"]
                               if v["impact"] in ("serious", "critical")]
                    self.assertEqual(serious, [])

    def test_screenshots_of_wide_pages(self):
        for sample in SAMPLES:
            self.open(sample)
            self.assertGreater(self.shoot(f"{sample}-1200"), 20_000)


def strategies():
    """The names in the order of the table of strategies."""
    listed = subprocess.run([sys.argv[1], "list", "--strategies", "--json"], check=True, capture_output=True, text=True)
    return [row["name"] for row in json.loads(listed.stdout)]


def make_reports(program, writer):
    samples = SCRATCH / "samples"
    subprocess.run([writer, samples], check=True)
    for sample in SAMPLES:
        files = ["thousand", "again"] if sample == "two" else [sample]
        subprocess.run([program, "report", *[samples / f"{name}.json" for name in files], "--out", SCRATCH / sample,
                        "--figures", "off"], check=True, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    SCRATCH = pathlib.Path(sys.argv[3]).resolve()
    if not CHROMIUM or not DRIVER:
        print("skipped: no Chromium with its driver (apt: chromium chromium-driver)")
        sys.exit(77)
    make_reports(sys.argv[1], sys.argv[2])
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]])
