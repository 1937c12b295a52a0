# SPDX-License-Identifier: Apache-2.0
"""Draws the runs with gnuplot: sock bytes over time, the limit, the kill."""

import pathlib
import subprocess
import tempfile

import story

# Colours that people with any colour vision tell apart (Okabe and Ito).
STYLES = {  # in the order of the key, two a column
    "v1": ("#1a1a1a", 2, "v1 with its own limit"),
    "bare": ("#d55e00", 3, "v2 alone"),
    "runc": ("#0072b2", 3, "v2 with sockmem, runc"),
    "crun": ("#009e73", 3, "v2 with sockmem, crun"),
    "free": ("#b0b0b0", 2, "v2, unlimited"),
}
DRAWN = ("free", "v1", "runc", "crun", "bare")  # the last one on top
# The axis ends there over the highest of the curves that matter; the run without a limit may leave it.
HEADROOM = 1.1
BEFORE_SEC = 0.5
POINT_SEC = 0.02
TERMINALS = {
    "svg": "svg size 960,560 dynamic font 'DejaVu Sans,13' background '#ffffff' linewidth 1",
    "png": "pngcairo size 1600,934 font 'DejaVu Sans,21' background '#ffffff' linewidth 1.7",
}
SCRIPT = """
set terminal {terminal}
set output '{output}'
set title "{title}" offset 0,0.2
set xlabel 'seconds since the burst began' offset 0,0.3
set ylabel 'socket memory of the container (MiB)' offset 0.5,0
set xrange [{left}:{right}]
set yrange [0:{top}]
set xtics 1
set ytics 20
set border 3 linecolor '#606060'
set tics nomirror out scale 0.6 textcolor '#303030'
set grid ytics linecolor '#e4e4e4' linetype 1 linewidth 1
set key below center maxrows 2 reverse Left samplen 1.6 spacing 1.25 width -2 height 0.6
set style textbox opaque noborder fillcolor '#ffffff' margins 0.3,0.2
set label 1 'limit 32 MiB' at first {right},{limit} right offset 0,0.65 textcolor '#505050'
{kill}
plot {limit} with lines dashtype 2 linewidth 2 linecolor '#505050' notitle, \\
     {curves}, \\
     {key}
"""
KILL = """set label 'OOM-killed' at {x},{y} offset 1.6,0.1 textcolor '#d55e00' front boxed point pointtype 2 pointsize 2 linewidth 3 linecolor '#d55e00'"""


class DrawingFailed(Exception):
    """gnuplot did not do it; the text says why."""


def thinned(curve, end):
    """The peak of each POINT_SEC up to the end of the run, as (t, MiB)."""
    points = {}
    for t, sock in curve:
        if end is None or t <= end:
            slot = int(t // POINT_SEC)
            points[slot] = max(points.get(slot, 0), sock)
    return [(slot * POINT_SEC, sock / story.MIB) for slot, sock in sorted(points.items())]


def write_curves(rows, folder):
    """A file for each kind of run, of its first run; returns {name: points}."""
    drawn = {}
    for name in STYLES:
        row = story.rows_of(rows, name)[0]
        killed = row["result"]["outcome"] == "OOM-killed"
        drawn[name] = thinned(row["curve"], row["end"] if killed else None)
        text = "".join(f"{t:.3f} {mib:.3f}\n" for t, mib in drawn[name])
        (folder / name).write_text(text, encoding="ascii")
    return drawn


def script(rows, kernel, folder, drawn, kind, output):
    killed = [n for n in STYLES if story.rows_of(rows, n)[0]["result"]["oom_kills"]]
    peaks = {n: max(mib for _, mib in points) for n, points in drawn.items()}
    lines = {n: f"with lines linewidth {width} linecolor '{colour}'" for n, (colour, width, _) in STYLES.items()}
    curves = ", ".join(f"'{folder / n}' {lines[n]} notitle" for n in DRAWN)
    top = round(HEADROOM * max(peaks[n] for n in DRAWN if n != "free") / 20 + 0.5) * 20
    titles = {n: title + (f" ({peaks[n]:.0f} MiB)" if peaks[n] > top else "") for n, (_, _, title) in STYLES.items()}
    key = ", ".join(f"keyentry {lines[n]} title '{titles[n]}'" for n in STYLES)
    return SCRIPT.format(
        terminal=TERMINALS[kind],
        output=output,
        title=f"A burst of {story.CONNECTIONS[kernel]} connections into a container that reads 20 MB/s",
        left=-BEFORE_SEC,
        right=7.5,
        top=top,
        limit=story.LIMIT / story.MIB,
        kill="\n".join(KILL.format(x=drawn[n][-1][0], y=drawn[n][-1][1]) for n in killed),
        curves=curves,
        key=key,
    )


def draw(rows, kernel, out):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        drawn = write_curves(rows, folder)
        for kind in TERMINALS:
            file = folder / "script"
            new = folder / ("demo." + kind)
            file.write_text(script(rows, kernel, folder, drawn, kind, new), encoding="utf-8")
            done = subprocess.run(["gnuplot", file], capture_output=True, text=True, check=False)
            if done.returncode != 0 or not new.exists() or not new.stat().st_size:
                raise DrawingFailed(f"gnuplot: exit {done.returncode}: {done.stderr.strip()[-400:]}")
            (out / new.name).write_bytes(new.read_bytes())
