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
from elkhound.experiments.report.remarks import remark
from elkhound.experiments.report.swept import swept_axes, swept_chart
from elkhound.experiments.row_table import Line, RowTable
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
    assert "<h2>Objective and gap against bind.batch</h2>" in page


def swept(batch: int, rate: float, method: str, objective: int, gap: float) -> Line:
    return {
        "bind.batch": batch, "set.rate": rate, "kind": "schedule", "method": method,
        "status": "feasible", "objective": objective, "gap": gap,
    }  # fmt: skip


SWEPT = [
    swept(16, 4e12, "basic", 300, 0.25),
    swept(8, 4e12, "basic", 200, 0.125),
    swept(8, 4e12, "static", 180, 0.0),
    swept(8, 8e12, "basic", 100, 0.5),
]


def test_a_line_goes_along_the_swept_axis_for_every_method_and_other_value() -> None:
    rows = RowTable(tuple(SWEPT))
    assert swept_axes(rows) == ("bind.batch", "set.rate")
    chart = swept_chart(rows.lines, "bind.batch", ["set.rate"])
    objectives = {
        (trace.name, trace.line.dash): (tuple(trace.x), tuple(trace.y))
        for trace in chart.data
        if trace.yaxis == "y" and trace.y[0] is not None
    }
    assert objectives == {
        ("basic", "solid"): ((8, 16), (200, 300)),
        ("static", "solid"): ((8,), (180,)),
        ("basic", "dash"): ((8,), (100,)),
    }
    gaps = [tuple(trace.y) for trace in chart.data if trace.yaxis == "y2"]
    assert gaps == [(12.5, 25), (0,), (50,)]
    legend = [trace.name for trace in chart.data if trace.showlegend is not False]
    assert legend == ["basic", "static", "set.rate=4e+12", "set.rate=8e+12"]
    assert chart.layout.yaxis.title.text == "objective (cycles)"
    assert chart.layout.xaxis2.title.text == "bind.batch"


@pytest.mark.parametrize(
    ("values", "scale"),
    [
        pytest.param([1, 2, 4], "linear", id="short"),
        pytest.param([1, 64], "log", id="long"),
        pytest.param([0, 64], "linear", id="from-0"),
        pytest.param(["toy-8", "toy-64"], "category", id="words"),
    ],
)
def test_a_swept_axis_has_the_scale_of_its_values(
    values: list[int | str], scale: str
) -> None:
    lines = [{"method": "dp", "objective": 1, "axis": value} for value in values]
    assert swept_chart(lines, "axis", []).layout.xaxis.type == scale


LIMITS = {"limits": {"seconds": 60.0, "relative_gap": 0.0}}


@pytest.mark.parametrize(
    ("line", "said"),
    [
        pytest.param(
            {"method": "dp", "wall_seconds": 60.2, "reason": "its plan …"},
            "stopped at the time limit of 60 s before a proof; its plan …",
            id="time",
        ),
        pytest.param(
            {"method": "cp-sat", "wall_seconds": 3.0},
            "stopped after 3 s before a proof",
            id="another-limit",
        ),
        pytest.param(
            {"method": "cp-sat", "wall_seconds": 3.0, "limits.seconds": 3.0},
            "stopped at the time limit of 3 s before a proof",
            id="swept-limit",
        ),
        pytest.param(
            {"method": "milp", "gap": 0.01, "limits.relative_gap": 0.02},
            "stopped at the gap asked for, 2 %",
            id="gap",
        ),
        pytest.param({"method": "static", "wall_seconds": 70.0}, "", id="heuristic"),
        pytest.param({"method": "of-another-package"}, "", id="not-installed"),
        pytest.param({"method": "dp", "status": "optimal"}, "", id="proved"),
    ],
)
def test_an_exact_method_without_a_proof_says_what_it_met(
    line: Line, said: str
) -> None:
    row = {"kind": "schedule", "status": "feasible", "reason": "", **line}
    assert remark(row, LIMITS) == said


def test_remarks_stand_below_their_rows(run_path: Path) -> None:
    place = run_path / "rows.json"
    table = json.loads(place.read_text())
    table["rows"][0]["reason"] = "its plan of 5 cycles has no addresses"
    place.write_text(json.dumps(table))
    page = report_html(read_run(run_path))
    table_text = page.partition("<h2>Rows</h2>")[2]
    columns = len(re.findall("<th[ >]", table_text.partition("</thead>")[0]))
    assert re.findall(r'<td class="remark" colspan="(\d+)">(.*)</td>', table_text) == [
        (str(columns), "its plan of 5 cycles has no addresses")
    ]


def test_no_legend_lies_under_the_tools_of_its_chart(run_path: Path) -> None:
    score = read_run(run_path).scores["basic"]
    for chart in (timeline_chart(score, None), swept_chart(SWEPT, "bind.batch", [])):
        legend = chart.layout.legend
        assert (legend.yref, legend.y, legend.yanchor) == ("container", 0, "bottom")


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
