"""The report: what it holds, that it needs nothing else, and that it draws."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from fakes.said import Said

from elkhound.experiments.report import read_run, report_html
from elkhound.experiments.report.charts import timeline_chart
from elkhound.experiments.run_dir import MARKER

Say = Callable[..., Said]
CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")


@pytest.fixture
def run_path(say: Say) -> Path:
    """A comparison on the README's decoder block, its run directory."""
    example = Path(__file__).parents[2] / "examples" / "decoder_block.onnx"
    flags = ["--bind", "batch=1,context=64", "--chip", "toy-64", "--no-plots"]
    methods = ["--methods", "basic,elk-dyn,ideal", "--run-dir", "run"]
    assert say("compare", str(example), *flags, *methods).status == 0
    return Path("run")


def test_a_report_holds_every_row_and_where_it_came_from(
    run_path: Path, say: Say
) -> None:
    assert json.loads(say("report", "run", "--json").out) == {
        "report": str(run_path / "report.html")
    }
    page = (run_path / "report.html").read_text(encoding="utf-8")
    rows = json.loads((run_path / "rows.json").read_text())["rows"]
    for row in rows:
        assert f"<td>{row['method']}</td>" in page
        if row["objective"] is not None:
            assert f"{row['objective']:,}" in page
    about = json.loads((run_path / MARKER).read_text())
    assert about["versions"]["ortools"] in page
    assert "3 rows, 2 of 2 plans verified" in page


def test_a_report_asks_for_nothing_outside_itself(run_path: Path) -> None:
    page = report_html(read_run(run_path))
    assert not re.search(r"<(?:script|link|img)[^>]*(?:src|href)=", page)


def test_the_timeline_shows_every_preload_and_phase(run_path: Path) -> None:
    score = read_run(run_path).scores["basic"]
    chart = timeline_chart(score, clock_hz=None)
    lasted = {trace.name: sum(trace.x) for trace in chart.data if trace.type == "bar"}
    preloads = [o for o in score["operators"] if o["preload_start_cycle"] is not None]
    assert lasted["preload (HBM to SRAM)"] == sum(
        o["preload_end_cycle"] - o["preload_start_cycle"] for o in preloads
    )
    computed = sum(o["compute_cycles"] for o in score["operators"])
    assert lasted["compute"] == computed
    # stacked, the three uses reach the peak
    steps = [trace.y for trace in chart.data if trace.type == "scatter"]
    peak = max(map(sum, zip(*steps, strict=True)))
    assert peak * 1024 == pytest.approx(score["peak_bytes"])


def test_names_from_files_are_shown_not_run(run_path: Path) -> None:
    place = run_path / "rows.json"
    table = json.loads(place.read_text())
    table["problem"]["name"] = "<script>alert(1)</script>"
    table["contradictions"] = ["bound 5 exceeds <b>4</b>"]
    place.write_text(json.dumps(table))
    page = report_html(read_run(run_path))
    assert "<script>alert(1)" not in page
    assert "bound 5 exceeds &lt;b&gt;4&lt;/b&gt;" in page


@pytest.mark.parametrize(
    ("prepare", "named"),
    [
        pytest.param(lambda p: None, "is no directory", id="nothing there"),
        pytest.param(lambda p: p.mkdir(), "is no run directory", id="empty"),
        pytest.param(
            lambda p: (p.mkdir(), (p / MARKER).write_text("{")),
            "cannot be read",
            id="half a file",
        ),
    ],
)
def test_what_is_no_run_is_refused_in_one_line(
    prepare: Callable[[Path], object], named: str, say: Say
) -> None:
    prepare(Path("other"))
    said = say("report", "other")
    assert said.status == 2
    assert named in said.err
    assert said.err.count("\n") == 1


def test_a_sweep_is_reported_with_what_it_varies(say: Say) -> None:
    Path("grid.yaml").write_text(
        "grid: {model: [gpt-3-6.7b], bind: {batch: [1, 2], seq: 16, layers: 1},"
        " chip: [toy-8], set: {sram_bytes: 1073741824, chips: 1}, methods: [basic]}"
    )
    assert say("sweep", "grid.yaml", "--output", "swept").status == 0
    assert say("report", "swept").status == 0
    page = Path("swept/report.html").read_text(encoding="utf-8")
    assert "<th>bind.batch</th>" in page
    assert page.count("<td>basic</td>") == 2


@pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine")
@pytest.mark.parametrize("width", [1300, 420])
def test_the_page_draws_in_a_browser(
    run_path: Path, say: Say, width: int, tmp_path: Path
) -> None:
    say("report", "run")
    assert CHROMIUM is not None
    done = subprocess.run(
        [
            CHROMIUM,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-background-networking",
            f"--user-data-dir={tmp_path / 'profile'}",
            f"--window-size={width},900",
            "--virtual-time-budget=8000",
            "--dump-dom",
            (run_path / "report.html").resolve().as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    # three charts over all rows and two timelines, each drawn as svg
    assert len(re.findall(r'class="[^"]*js-plotly-plot', done.stdout)) == 5
    assert len(re.findall(r'<svg class="main-svg"', done.stdout)) >= 5
