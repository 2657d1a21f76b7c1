"""Compiles table.tex and numbers.tex of a report with pdflatex. Exit code 77: pdflatex or a package is missing.

usage: latex_test.py PARABENCH WRITE_REPORT_SAMPLES SCRATCH_FOLDER
"""

import pathlib
import re
import shutil
import subprocess
import sys
import unittest

DOCUMENT = r"""\documentclass{article}
\usepackage{booktabs}
\usepackage{longtable}
%s
\input{numbers.tex}
\begin{document}
%s
\input{table.tex}
\end{document}
"""


def compile_document(folder, preamble, body):
    (folder / "paper.tex").write_text(DOCUMENT % (preamble, body))
    return pdflatex(folder)


def pdflatex(folder):
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape", "paper.tex"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, errors="replace")


def macros(folder):
    return re.findall(r"\\newcommand\{(\\pb[A-Za-z]+)\}\{([^}]*)\}", (folder / "numbers.tex").read_text())


class LatexTest(unittest.TestCase):
    def test_table_and_every_number_compile_without_a_warning_about_text(self):
        for sample, most in (("one", None), ("timelines", None), ("thousand", 400), ("failed", None), ("hostile", None),
                             ("two", 400)):
            for preamble in ("", "\\usepackage[T1]{fontenc}\\usepackage{lmodern}"):
                with self.subTest(sample=sample, preamble=preamble):
                    folder = SCRATCH / sample
                    names = [name for name, _ in macros(folder)][:most]
                    outcome = compile_document(folder, preamble, "\n\n".join(f"{name}" for name in names))
                    self.assertEqual(outcome.returncode, 0, outcome.stdout[-3000:])
                    self.assertNotIn("Missing character", outcome.stdout)

    def test_the_tables_of_the_tutorial_fit_the_page(self):
        tutorial = (pathlib.Path(__file__).parents[2] / "docs/tutorial.md").read_text(encoding="utf-8")
        table = re.search(r"\\begin\{table\}.*?\\end\{table\}", tutorial, re.DOTALL)[0].replace("report/table", "table")
        for sample in ("one", "timelines", "failed"):
            with self.subTest(sample):
                folder = SCRATCH / sample
                (folder / "paper.tex").write_text(
                    "\\documentclass{article}\n\\usepackage{booktabs,graphicx}\n\\begin{document}\n%s\n\\end{document}\n" % table)
                outcome = pdflatex(folder)
                self.assertEqual(outcome.returncode, 0, outcome.stdout[-3000:])
                self.assertNotIn("Overfull", outcome.stdout)

    def test_a_number_that_is_not_known_stops_latex(self):
        outcome = compile_document(SCRATCH / "one", "", "\\pbNoSuchCaseMeasuredMs")
        self.assertNotEqual(outcome.returncode, 0)
        self.assertIn("Undefined control sequence", outcome.stdout)

    @unittest.skipUnless(shutil.which("pdftotext"), "no pdftotext (apt: poppler-utils)")
    def test_text_of_input_is_printed_as_it_is(self):
        folder = SCRATCH / "hostile"
        self.assertEqual(compile_document(folder, "\\usepackage[T1]{fontenc}\\usepackage{lmodern}", "").returncode, 0)
        text = subprocess.run(["pdftotext", "-layout", "paper.pdf", "-"], cwd=folder, capture_output=True, text=True).stdout
        self.assertIn("\\input{x} $%&#_^~", re.sub(r"\s+", " ", text))


if __name__ == "__main__":
    SCRATCH = pathlib.Path(sys.argv[3]).resolve()
    if not shutil.which("pdflatex"):
        print("skipped: no pdflatex (apt: texlive-latex-base texlive-latex-recommended lmodern)")
        sys.exit(77)
    SCRATCH.mkdir(parents=True, exist_ok=True)
    probe = subprocess.run(["kpsewhich", "booktabs.sty", "longtable.sty", "lmodern.sty"], capture_output=True, text=True)
    if len(probe.stdout.split()) < 3:
        print("skipped: LaTeX lacks a package (apt: texlive-latex-recommended lmodern)")
        sys.exit(77)
    subprocess.run([sys.argv[2], SCRATCH / "samples"], check=True)
    for name in ("one", "timelines", "thousand", "failed", "hostile", "two"):
        files = ["thousand", "again"] if name == "two" else [name]
        subprocess.run([sys.argv[1], "report", *[SCRATCH / "samples" / f"{f}.json" for f in files], "--out", SCRATCH / name,
                        "--figures", "off"], check=True, stdout=subprocess.DEVNULL)
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]])
