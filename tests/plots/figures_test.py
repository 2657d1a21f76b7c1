"""Holds the figures for papers to what papers want: a column's width, embedded fonts, text that is legible and does not
overlap, the same bytes for the same report. Exit code 77: matplotlib is missing.

usage: figures_test.py PARABENCH WRITE_REPORT_SAMPLES FIGURES_FOLDER SCRATCH_FOLDER
"""

import importlib
import importlib.util
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest
import unittest.mock
import xml.etree.ElementTree

if importlib.util.find_spec("matplotlib") is None:
    print("skipped: no matplotlib (apt: python3-matplotlib)")
    sys.exit(77)

SAMPLES = ["one", "timelines", "thousand", "failed", "hostile", "two"]
COLUMN_POINTS = 3.35 * 72
DRAWN = ["breakdown", "errors", "pareto", "parity", "scaling"]
NAMES = [*DRAWN, "grids"]


def run(folder, **environment):
    command = [sys.executable, FIGURES, folder]
    return subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True)


def copy_of(sample, name):
    folder = SCRATCH / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    shutil.copy(SCRATCH / sample / "figures.json", folder)
    return folder


def report_of(sample):
    return json.loads((SCRATCH / sample / "figures.json").read_text(encoding="utf-8"))


def figures_of(report):
    """What is drawn of a report, by name."""
    figures = {}
    paper.style()
    rows = [row for row in report["rows"] if row["counts"]]
    with unittest.mock.patch.object(paper, "save", lambda figure, _, name: figures.update({name: figure})):
        for name in NAMES:
            importlib.import_module(name).draw(report, rows, None)
    return figures


def texts_of(figure):
    return [text.get_text() for text in figure.findobj(matplotlib.text.Text) if text.get_text().strip()]


def colours_of_legend(figure):
    return {handle.get_label(): handle.get_color() for handle in figure.legends[0].get_lines() if handle.get_color() != "black"}


def drawn(folder):
    return sorted(path.name for path in folder.iterdir() if path.suffix in (".svg", ".pdf"))


class FiguresTest(unittest.TestCase):
    def tearDown(self):
        paper.plt.close("all")

    def test_draws_what_the_records_hold(self):
        for sample, names in (("thousand", DRAWN), ("timelines", sorted(DRAWN + ["grids"])), ("failed", []),
                              ("one", ["breakdown", "errors", "pareto", "parity"])):
            with self.subTest(sample):
                self.assertEqual(drawn(SCRATCH / sample), sorted(n + s for n in names for s in (".pdf", ".svg")))

    def test_report_claims_the_figures_that_it_wrote(self):
        for sample, claim in (("failed", "no figures: no row counts"),
                              ("one", "and the figures as SVG and PDF: parity, errors, breakdown, pareto")):
            with self.subTest(sample):
                out = subprocess.run([PROGRAM, "report", SCRATCH / f"samples/{sample}.json", "--out", SCRATCH / "claims"],
                                     capture_output=True, text=True, check=True).stdout
                self.assertEqual(out.splitlines()[-1], claim)

    def test_are_one_column_wide_and_no_page_high(self):
        for sample in SAMPLES:
            for path in (SCRATCH / sample).glob("*.svg"):
                with self.subTest(path=path):
                    root = xml.etree.ElementTree.parse(path).getroot()
                    self.assertAlmostEqual(float(root.get("width").removesuffix("pt")), COLUMN_POINTS, 1)
                    self.assertLess(float(root.get("height").removesuffix("pt")), 11 * 72)
                    box = re.search(rb"/MediaBox \[ ([\d. ]+) \]", path.with_suffix(".pdf").read_bytes())[1].split()
                    self.assertAlmostEqual(float(box[2]), COLUMN_POINTS, 1)

    def test_pdfs_embed_true_type_fonts(self):
        for sample in ("thousand", "timelines"):
            for path in (SCRATCH / sample).glob("*.pdf"):
                with self.subTest(path=path):
                    data = path.read_bytes()
                    self.assertIn(b"/FontFile2", data)
                    self.assertNotIn(b"/Type3", data)

    def test_drawings_hold_no_element_of_input(self):
        for path in (SCRATCH / "hostile").glob("*.svg"):
            with self.subTest(path=path):
                tags = {element.tag.rsplit("}", 1)[-1] for element in xml.etree.ElementTree.parse(path).iter()}
                self.assertFalse(tags & {"script", "img", "image", "foreignObject", "a"})

    def test_text_is_legible_and_does_not_overlap(self):
        found = []

        def examine(figure, name):
            figure.canvas.draw()
            renderer = figure.canvas.get_renderer()
            width, height = figure.canvas.get_width_height()
            # Axes keep more ticks than they draw.
            axis = [one for axes in figure.axes for one in (axes.xaxis, axes.yaxis)]
            drawn_ticks = {id(tick.label1) for one in axis for tick in one._update_ticks()}
            kept_ticks = {id(tick.label1) for one in axis for tick in one.majorTicks + one.minorTicks}
            boxes = []
            self.assertLess(figure.get_figheight(), 11)
            for text in figure.findobj(matplotlib.text.Text):
                hidden = id(text) in kept_ticks - drawn_ticks
                if hidden or not text.get_visible() or not text.get_text().strip():
                    continue
                box = text.get_window_extent(renderer)
                boxes.append((text.get_text(), box))
                if text.get_fontsize() < 5:
                    found.append((name, "small", text.get_text()))
                if box.x0 < -1 or box.y0 < -1 or box.x1 > width + 1 or box.y1 > height + 1:
                    found.append((name, "cut off", text.get_text(), box.extents.round(1).tolist(), (width, height)))
            for i, (one, a) in enumerate(boxes):
                for other, b in boxes[i + 1:]:
                    wide, high = min(a.x1, b.x1) - max(a.x0, b.x0), min(a.y1, b.y1) - max(a.y0, b.y0)
                    if wide > 1 and high > 1.5:
                        found.append((name, "overlap", one, other))
            paper.plt.close(figure)

        reports = {sample: report_of(sample) for sample in SAMPLES}
        reports["64 ranks"] = json.loads(json.dumps(reports["timelines"]))
        for row in reports["64 ranks"]["rows"]:
            for half in row["timeline"].values():
                half["ranks_us"] = (half["ranks_us"] * 64)[:64]
        for sample, report in reports.items():
            for name, figure in figures_of(report).items():
                examine(figure, name)
                self.assertEqual(found, [], sample)

    def test_the_band_holds_errors_of_ten_percent(self):
        axes = figures_of(report_of("one"))["parity"].axes[0]
        for measured, predicted in axes.collections[0].get_paths()[0].vertices:
            self.assertAlmostEqual(abs((predicted - measured) / measured), 0.1)

    def test_errors_that_are_drawn_elsewhere_are_told(self):
        report = report_of("timelines")
        self.assertNotIn("error, at most 200 %", texts_of(figures_of(report)["errors"]))
        report["rows"][0]["time_error"] = 3.5
        self.assertIn("error, at most 200 %", texts_of(figures_of(report)["errors"]))

    def test_cases_of_several_workloads_are_told_apart(self):
        report = report_of("timelines")
        self.assertNotIn("resnet18/cifar10-synthetic", texts_of(figures_of(report)["breakdown"]))
        for row in report["rows"][::2]:
            row["id"] = row["id"].replace("resnet18", "vgg16")
        figures = figures_of(report)
        for name in ("resnet18/cifar10-synthetic", "vgg16/cifar10-synthetic"):
            self.assertIn(name, texts_of(figures["breakdown"]))
            self.assertTrue([text for text in texts_of(figures["grids"]) if name in text])

    def test_a_strategy_looks_the_same_in_every_figure(self):
        for sample in ("timelines", "thousand", "two"):
            figures = figures_of(report_of(sample))
            parity = colours_of_legend(figures["parity"])
            self.assertIn("sequential", parity)
            for name in ("scaling", "pareto"):
                colours = colours_of_legend(figures[name])
                self.assertGreaterEqual(len(colours), 2)
                self.assertEqual(colours, {one: parity[re.split(r"[/ ]", one)[0]] for one in colours})

    def test_every_strategy_of_the_table_has_a_look_of_its_own_in_every_report(self):
        listed = json.loads(subprocess.run([PROGRAM, "list", "--strategies", "--json"], check=True, capture_output=True).stdout)
        order = [row["name"] for row in listed]
        table = [{"strategy": name, "strategy_place": place} for place, name in enumerate(order)]
        looks = importlib.import_module("looks").looks(table, lambda row: row["strategy"], table)
        self.assertGreater(len(looks), 8)
        self.assertEqual(len({(colour, shape) for colour, shape, _ in looks.values()}), len(looks))
        for sample in ("timelines", "thousand", "two"):
            for row in report_of(sample)["rows"]:
                self.assertEqual(row["strategy_place"], order.index(row["strategy"]))
            colours = colours_of_legend(figures_of(report_of(sample))["parity"])
            self.assertEqual(colours, {name: looks[name][0] for name in colours})

    def test_names_of_one_strategy_are_told_apart(self):
        for name in ("scaling", "pareto"):
            lines = [one for one in figures_of(report_of("two"))[name].legends[0].get_lines() if one.get_color() != "black"]
            marks = [(one.get_color(), one.get_marker(), one.get_fillstyle(), one.get_markerfacecoloralt()) for one in lines]
            self.assertEqual(len(set(marks)), len(lines), name)
            looks = {}
            for one in lines:
                strategy = re.split(r"[/ ]", one.get_label())[0]
                self.assertEqual(looks.setdefault(strategy, (one.get_color(), one.get_marker())), (one.get_color(), one.get_marker()))

    def test_the_longest_bar_ends_inside_the_frame(self):
        for sample in ("one", "timelines", "two"):
            axes = figures_of(report_of(sample))["breakdown"].axes[0]
            self.assertGreater(axes.get_xlim()[1], 1.01 * max(bar.get_x() + bar.get_width() for bar in axes.patches))

    def test_labels_of_bars_are_whole(self):
        report = report_of("timelines")
        report["files"] *= 2
        for row in report["rows"]:
            row["label"] += "/checkpoint:full"
            row["file"] = 1
        labels = {text for text in texts_of(figures_of(report)["breakdown"]) if "checkpoint" in text}
        self.assertEqual(len(labels), len(report["rows"]))
        self.assertFalse([text for text in labels if "\u2026" in text])

    def test_the_front_is_explained(self):
        self.assertIn("front (thick border)", texts_of(figures_of(report_of("timelines"))["pareto"]))

    def test_unchecked_rows_are_explained(self):
        self.assertNotIn("equivalence not checked", texts_of(figures_of(report_of("one"))["parity"]))
        figures = figures_of(report_of("thousand"))
        for name in ("parity", "errors"):
            self.assertIn("equivalence not checked", texts_of(figures[name]))

    def test_a_small_difference_of_memory_looks_small(self):
        report = report_of("one")
        row = report["rows"][0]
        row["predicted_bytes"] = row["measured_bytes"] * 1.0001
        low, high = figures_of(report)["pareto"].axes[0].get_ylim()
        self.assertGreater(high - low, 0.09 * high)

    def test_draws_operations_that_take_no_time(self):
        report = report_of("timelines")
        report["rows"][0]["timeline"] = {"predicted": {"ranks_us": []}, "measured": {"ranks_us": [["F0", 0, 0]]}}
        report["rows"] = report["rows"][:1]
        self.assertIn("grids", figures_of(report))

    def test_same_report_same_bytes_whatever_the_users_settings(self):
        settings = SCRATCH / "matplotlibrc"
        settings.write_text("font.size: 30\nsvg.fonttype: none\npdf.fonttype: 3\n")
        folder = copy_of("timelines", "again")
        self.assertEqual(run(folder, MATPLOTLIBRC=str(settings)).returncode, 0)
        for name in drawn(folder):
            self.assertEqual((folder / name).read_bytes(), (SCRATCH / "timelines" / name).read_bytes(), name)

    def test_figures_of_an_earlier_report_do_not_stay(self):
        folder = copy_of("failed", "stale")
        (folder / "parity.svg").write_text("old")
        (folder / "mine.svg").write_text("mine")
        self.assertEqual(run(folder).returncode, 0)
        self.assertEqual(drawn(folder), ["mine.svg"])
        self.assertEqual(sorted(path.name for path in folder.iterdir()), ["figures.json", "mine.svg"])

    def test_says_what_is_missing(self):
        self.assertEqual(run(SCRATCH / "nowhere").returncode, 2)
        fake = SCRATCH / "fake" / "matplotlib"
        fake.mkdir(parents=True, exist_ok=True)
        (fake / "__init__.py").write_text("raise ImportError('No module named matplotlib')\n")
        self.assertEqual(run(SCRATCH / "one", PYTHONPATH=str(fake.parent)).returncode, 4)
        out = SCRATCH / "without"
        shutil.rmtree(out, ignore_errors=True)
        outcome = subprocess.run([PROGRAM, "report", SCRATCH / "samples/one.json", "--out", out], capture_output=True, text=True,
                                 env={**os.environ, "PYTHONPATH": str(fake.parent)})
        self.assertEqual(outcome.returncode, 4)
        self.assertIn("apt-get install python3-matplotlib", outcome.stderr)
        self.assertEqual(sorted(path.name for path in out.iterdir()),
                         ["figures.json", "numbers.tex", "report.html", "results.csv", "table.tex"])


def make_reports(writer):
    samples = SCRATCH / "samples"
    subprocess.run([writer, samples], check=True)
    for sample in SAMPLES:
        shutil.rmtree(SCRATCH / sample, ignore_errors=True)
        files = ["thousand", "again"] if sample == "two" else [sample]
        subprocess.run([PROGRAM, "report", *[samples / f"{name}.json" for name in files], "--out", SCRATCH / sample],
                       check=True, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    PROGRAM, FIGURES, SCRATCH = sys.argv[1], sys.argv[3], pathlib.Path(sys.argv[4]).resolve()
    sys.path.insert(0, FIGURES)
    import matplotlib.text
    import paper

    make_reports(sys.argv[2])
    unittest.main(argv=[sys.argv[0], *sys.argv[5:]])
