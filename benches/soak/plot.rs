//! A plot in SVG: panels over one axis of time, a line for each kill.

use std::fmt::Write as _;

use super::SecondStats;

const WIDTH: f64 = 960.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = 20.0;
const PANEL: f64 = 120.0;
const GAP: f64 = 46.0;
const TOP: f64 = 30.0;

/// A name, a colour, and what is drawn of a moment.
type Line = (&'static str, &'static str, fn(&SecondStats) -> f64);

struct Panel {
    title: &'static str,
    lines: Vec<Line>,
}

/// The whole picture.
pub(super) fn svg(moments: &[SecondStats], kills: &[usize]) -> String {
    let panels = [
        Panel {
            title: "visits a second",
            lines: vec![("visits", "#1f77b4", |m| m.visits)],
        },
        Panel {
            title: "p99 of a visit, from when it was due, ms",
            lines: vec![("p99", "#d62728", |m| m.p99_ms)],
        },
        Panel {
            title: "resident memory, MiB (sandbox chains and issuer included)",
            lines: vec![("resident", "#2ca02c", |m| m.resident_mib)],
        },
        Panel {
            title: "disk, MiB",
            lines: vec![
                ("journal", "#9467bd", |m| m.journal_mib),
                ("snapshots and export", "#8c564b", |m| m.snapshots_mib),
                ("sandbox", "#7f7f7f", |m| m.sandbox_mib),
            ],
        },
    ];
    let height = TOP + panels.len() as f64 * (PANEL + GAP);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" font-family=\"sans-serif\" \
         font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
    );
    let seconds = moments.len().max(2) as f64 - 1.0;
    let x = |second: f64| LEFT + second / seconds * (WIDTH - LEFT - RIGHT);
    for (n, panel) in panels.iter().enumerate() {
        let top = TOP + n as f64 * (PANEL + GAP);
        draw(&mut out, panel, moments, top, x);
        for kill in kills {
            let at = x(*kill as f64);
            push(
                &mut out,
                format_args!(
                    "<line x1=\"{at:.1}\" y1=\"{top}\" x2=\"{at:.1}\" y2=\"{}\" stroke=\"#999\" stroke-dasharray=\"2,3\"/>",
                    top + PANEL
                ),
            );
        }
        for part in 0..=6 {
            let second = seconds * f64::from(part) / 6.0;
            push(
                &mut out,
                format_args!(
                    "<text x=\"{:.1}\" y=\"{}\" text-anchor=\"middle\" fill=\"#555\">{:.0} s</text>",
                    x(second),
                    top + PANEL + 15.0,
                    second
                ),
            );
        }
    }
    out.push_str("</svg>\n");
    out
}

fn draw(out: &mut String, panel: &Panel, moments: &[SecondStats], top: f64, x: impl Fn(f64) -> f64) {
    let values = panel.lines.iter().flat_map(|(_, _, of)| moments.iter().map(of));
    let most = values.fold(1.0, f64::max);
    let y = |value: f64| top + PANEL - value / most * PANEL;
    push(
        out,
        format_args!(
            "<text x=\"{LEFT}\" y=\"{}\" font-weight=\"bold\">{}</text>",
            top - 6.0,
            panel.title
        ),
    );
    for value in [0.0, most / 2.0, most] {
        let at = y(value);
        push(
            out,
            format_args!(
                "<line x1=\"{LEFT}\" y1=\"{at:.1}\" x2=\"{}\" y2=\"{at:.1}\" stroke=\"#eee\"/><text x=\"{}\" y=\"{:.1}\" \
             text-anchor=\"end\" fill=\"#555\">{value:.0}</text>",
                WIDTH - RIGHT,
                LEFT - 6.0,
                at + 4.0
            ),
        );
    }
    for (n, (name, colour, of)) in panel.lines.iter().enumerate() {
        let points: Vec<String> = moments
            .iter()
            .enumerate()
            .map(|(second, moment)| format!("{:.1},{:.1}", x(second as f64), y(of(moment))))
            .collect();
        push(
            out,
            format_args!(
                "<polyline fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.2\" points=\"{}\"/>",
                points.join(" ")
            ),
        );
        if panel.lines.len() > 1 {
            push(
                out,
                format_args!(
                    "<text x=\"{}\" y=\"{}\" fill=\"{colour}\">{name}</text>",
                    LEFT + 180.0 + 150.0 * n as f64,
                    top - 6.0
                ),
            );
        }
    }
}

fn push(out: &mut String, text: std::fmt::Arguments<'_>) {
    // Writing to a String cannot fail.
    let _ = writeln!(out, "{text}");
}
