"""The other outputs of a report, read by independent readers: Python's csv module and HTML parser."""

import csv
import decimal
import html.parser
import json
import pathlib

import pytest

GOLDEN = pathlib.Path(__file__).resolve().parents[2] / "tests" / "golden" / "publish"
PAGES = sorted(GOLDEN.glob("*.html"))
TABLES = sorted(GOLDEN.glob("*.csv"))
VOID = {"meta", "br", "img", "hr", "input", "link", "path", "rect"}


def test_there_is_something_to_check():
    assert len(PAGES) >= 5 and len(TABLES) >= 6


@pytest.mark.parametrize("path", TABLES, ids=lambda p: p.stem)
def test_csv_rows_say_what_the_json_says(path):
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file, strict=True))
    report = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"), parse_float=decimal.Decimal)
    assert [r["path"] for r in rows] == [c["path"] for c in report["components"]]
    for row, component in zip(rows, report["components"]):
        assert None not in row and None not in row.values()
        expected = component["joules"]
        assert row["joules"] == ("" if expected is None else str(expected))
        assert row["joules"] or row["reason"]
        assert row["label"].lstrip("'") == component["label"]


class Outline(html.parser.HTMLParser):
    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.open, self.problems, self.links, self.rows = [], [], [], []
        self.text = []

    def handle_starttag(self, tag, attrs):
        self.links += [v for k, v in attrs if k in ("src", "href", "xlink:href", "srcset", "action")]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        pass

    def handle_endtag(self, tag):
        if tag in VOID and tag not in self.open:
            return
        if not self.open or self.open.pop() != tag:
            self.problems.append(f"</{tag}> at {self.getpos()}")

    def handle_data(self, data):
        if self.open and self.open[-1] not in ("style", "script"):
            self.text.append(data)


@pytest.mark.parametrize("path", PAGES, ids=lambda p: p.stem)
def test_the_page_is_well_formed_and_asks_nothing_of_anyone(path):
    outline = Outline()
    # Self-closed SVG shapes with a <title> inside are real elements; the others are void.
    text = path.read_text(encoding="utf-8").replace("</title></rect>", "</title>").replace("</title></path>", "</title>")
    outline.feed(text)
    outline.close()
    assert outline.problems == []
    assert outline.open == []
    assert outline.links == []


@pytest.mark.parametrize("path", PAGES, ids=lambda p: p.stem)
def test_the_page_says_what_the_json_says(path):
    outline = Outline()
    outline.feed(path.read_text(encoding="utf-8"))
    words = " ".join(outline.text)
    report = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"), parse_float=decimal.Decimal)
    for component in report["components"]:
        assert component["label"] in words
        if component["joules"] is None:
            assert "missing" in words and component["reason"] in words
        else:
            assert f'title="{component["joules"]} J"' in path.read_text(encoding="utf-8")
    for missing in report["energy"]["missing"]:
        assert missing in words
