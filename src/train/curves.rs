//! Loss and phone error over the epochs as a picture: SVG, a panel each, drawn from the rows of the training log.

use std::fmt::Write;

use super::log::EpochRow;

/// Places in pixels.
const WIDTH: f64 = 760.0;
const LEFT: f64 = 60.0;
const RIGHT: f64 = 20.0;
const TOP: f64 = 42.0;
const PLOT_HEIGHT: f64 = 200.0;
const PANEL_HEIGHT: f64 = TOP + PLOT_HEIGHT + 46.0;

/// About as many ticks on an axis.
const TICKS: f64 = 6.0;

/// Values beyond are as good as infinite, and left out.
const MOST: f64 = 1e100;

/// Ticks this far apart are told as powers of ten.
const FAR_APART: f64 = 1e6;

/// Epochs counted through all stages, and a value at each; a curve breaks where a stage begins.
struct Curve {
    name: &'static str,
    colour: &'static str,
    pieces: Vec<Vec<(f64, f64)>>,
}

impl Curve {
    fn of(
        rows: &[EpochRow],
        (name, colour): (&'static str, &'static str),
        value: impl Fn(&EpochRow) -> Option<f64>,
    ) -> Self {
        let mut pieces: Vec<Vec<(f64, f64)>> = Vec::new();
        for (index, row) in rows.iter().enumerate() {
            if index == 0 || rows[index - 1].stage != row.stage {
                pieces.push(Vec::new());
            }
            let value = value(row).filter(|value| value.abs() < MOST);
            if let (Some(piece), Some(value)) = (pieces.last_mut(), value) {
                piece.push((index as f64 + 1.0, value));
            }
        }
        Self { name, colour, pieces }
    }

    fn values(&self) -> impl Iterator<Item = f64> {
        self.pieces.iter().flatten().map(|point| point.1)
    }
}

/// An axis from `low` to `high`, with a tick at each multiple of `step`.
#[derive(Debug, PartialEq)]
struct Axis {
    low: f64,
    high: f64,
    step: f64,
}

impl Axis {
    /// Around all `values`, its ends being ticks; wider where they are as good as one, from 0 to 1 around none.
    fn around(values: impl Iterator<Item = f64>) -> Self {
        let (low, high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)));
        let size = low.abs().max(high.abs());
        let (low, high) = match high - low {
            span if span > 1e-6 * size.max(1e-3) => (low, high),
            span if span >= 0.0 => (low - 0.1 * size.max(5.0), high + 0.1 * size.max(5.0)),
            _ => (0.0, 1.0),
        };
        let step = round_step((high - low) / TICKS);
        // A value at a tick, but for rounding, is there.
        let (below, above) = ((low / step + 1e-6).floor(), (high / step - 1e-6).ceil());
        Self { low: below * step, high: above * step, step }
    }

    fn ticks(&self) -> impl Iterator<Item = f64> {
        let (first, last) = ((self.low / self.step - 1e-6).ceil(), (self.high / self.step + 1e-6).floor());
        let step = self.step;
        (0..=(last - first) as usize).map(move |index| (first + index as f64) * step)
    }

    /// Where `value` is, 0 to 1.
    fn place(&self, value: f64) -> f64 {
        (value - self.low) / (self.high - self.low)
    }

    /// `value` with as many decimals as tell ticks apart.
    fn label(&self, value: f64) -> String {
        let power = self.step.log10().floor();
        if self.step < FAR_APART {
            let decimals = (-power).max(0.0) as usize;
            return format!("{value:.decimals$}");
        }
        let decimals = (value.abs().log10().floor() - power).max(0.0) as usize;
        format!("{value:.decimals$e}")
    }
}

/// 1, 2 or 5 times a power of ten, not below `step`.
fn round_step(step: f64) -> f64 {
    let power = 10f64.powf(step.log10().floor());
    let times = [1.0, 2.0, 5.0, 10.0].into_iter().find(|times| times * power >= step * (1.0 - 1e-9));
    times.unwrap_or(10.0) * power
}

/// The picture of `rows`, which are in the order in which they were made.
pub(super) fn draw(rows: &[EpochRow]) -> String {
    let losses = [
        Curve::of(rows, ("training", "#1f5fa8"), |row| Some(row.loss)),
        Curve::of(rows, ("development", "#d0661a"), |row| row.development_loss),
    ];
    let errors = [Curve::of(rows, ("development", "#d0661a"), |row| row.phone_error_percent)];
    let panels = [("loss per frame", losses.as_slice()), ("phone error, percent", errors.as_slice())];
    let height = PANEL_HEIGHT * panels.len() as f64;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" viewBox=\"0 0 {WIDTH} {height}\" \
         font-family=\"sans-serif\" font-size=\"12\" fill=\"#222\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n"
    );
    for (index, (title, curves)) in panels.into_iter().enumerate() {
        panel(&mut svg, (title, curves), rows, PANEL_HEIGHT * index as f64 + TOP);
    }
    svg.push_str("</svg>\n");
    svg
}

/// One panel, whose plot begins at height `top`.
fn panel(svg: &mut String, (title, curves): (&str, &[Curve]), rows: &[EpochRow], top: f64) {
    let values = Axis::around(curves.iter().flat_map(Curve::values));
    let last = rows.len().max(2) as f64;
    let epochs = Axis { low: 1.0, high: last, step: round_step((last - 1.0) / 15.0).max(1.0) };
    let (right, bottom) = (WIDTH - RIGHT, top + PLOT_HEIGHT);
    let at = |(epoch, value): (f64, f64)| {
        (LEFT + epochs.place(epoch) * (right - LEFT), bottom - values.place(value) * PLOT_HEIGHT)
    };
    text(svg, (LEFT, top - 24.0), ("start", &format!("<tspan font-weight=\"bold\">{title}</tspan>")));
    legend(svg, curves, top - 24.0);
    for tick in values.ticks() {
        let y = at((1.0, tick)).1;
        line(svg, [(LEFT, y), (right, y)], "stroke=\"#ddd\"");
        text(svg, (LEFT - 6.0, y + 4.0), ("end", &values.label(tick)));
    }
    for tick in epochs.ticks() {
        let x = at((tick, values.low)).0;
        line(svg, [(x, bottom), (x, bottom + 4.0)], "stroke=\"#222\"");
        text(svg, (x, bottom + 17.0), ("middle", &epochs.label(tick)));
    }
    text(svg, ((LEFT + right) / 2.0, bottom + 33.0), ("middle", "epoch"));
    for (index, row) in rows.iter().enumerate().filter(|(index, row)| *index == 0 || rows[index - 1].stage != row.stage)
    {
        let x = if index == 0 { LEFT } else { at((index as f64 + 0.5, 0.0)).0 };
        line(svg, [(x, top), (x, bottom)], "stroke=\"#999\" stroke-dasharray=\"4 3\"");
        text(svg, (x + 3.0, top - 5.0), ("start", &format!("<tspan fill=\"#666\">{}</tspan>", escaped(&row.stage))));
    }
    line(svg, [(LEFT, top), (LEFT, bottom)], "stroke=\"#222\"");
    line(svg, [(LEFT, bottom), (right, bottom)], "stroke=\"#222\"");
    for curve in curves {
        curve.pieces.iter().for_each(|piece| points(svg, curve.colour, piece.iter().map(|point| at(*point)).collect()));
    }
}

/// Names of the curves with their colours, at the right.
fn legend(svg: &mut String, curves: &[Curve], y: f64) {
    for (index, curve) in curves.iter().rev().enumerate() {
        let x = WIDTH - RIGHT - 110.0 * (index as f64 + 1.0);
        line(svg, [(x, y - 4.0), (x + 22.0, y - 4.0)], &format!("stroke=\"{}\" stroke-width=\"2\"", curve.colour));
        text(svg, (x + 28.0, y), ("start", curve.name));
    }
}

fn points(svg: &mut String, colour: &str, points: Vec<(f64, f64)>) {
    let places: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
    let _ = writeln!(
        svg,
        "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.8\"/>",
        places.join(" ")
    );
    for (x, y) in points {
        let _ = writeln!(svg, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"2.2\" fill=\"{colour}\"/>");
    }
}

fn line(svg: &mut String, [(x1, y1), (x2, y2)]: [(f64, f64); 2], stroke: &str) {
    let _ = writeln!(svg, "<line x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\" {stroke}/>");
}

/// `content`, which is SVG already, at a place.
fn text(svg: &mut String, (x, y): (f64, f64), (anchor, content): (&str, &str)) {
    let _ = writeln!(svg, "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{content}</text>");
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(stage: &str, epoch: usize, (loss, phone_error_percent): (f64, Option<f64>)) -> EpochRow {
        EpochRow {
            stage: stage.into(),
            epoch,
            learning_rate: 1e-3,
            loss,
            frames_right_percent: 50.0,
            development_loss: Some(loss + 0.1),
            development_frames_right_percent: Some(50.0),
            phone_error_percent,
            seconds: 1.0,
        }
    }

    #[test]
    fn axes_end_at_round_numbers_around_the_data() {
        let ticks = |values: &[f64]| {
            let axis = Axis::around(values.iter().copied());
            axis.ticks().map(|tick| axis.label(tick)).collect::<Vec<_>>()
        };
        assert_eq!(ticks(&[0.93, 3.1]), ["0.5", "1.0", "1.5", "2.0", "2.5", "3.0", "3.5"]);
        assert_eq!(ticks(&[18.0, 61.0]), ["10", "20", "30", "40", "50", "60", "70"]);
        assert_eq!(ticks(&[0.0012, 0.0013]), ["0.00120", "0.00122", "0.00124", "0.00126", "0.00128", "0.00130"]);
        assert_eq!(ticks(&[4.0]).first().map(String::as_str), Some("3.4"));
        assert_eq!(ticks(&[1e30]), ["9.0e29", "9.5e29", "1.00e30", "1.05e30", "1.10e30"]);
        assert_eq!(ticks(&[0.0, 2.1e7]), ["0e0", "5e6", "1.0e7", "1.5e7", "2.0e7", "2.5e7"]);
        assert_eq!(Axis::around(std::iter::empty()), Axis { low: 0.0, high: 1.0, step: 0.2 });
    }

    #[test]
    fn every_epoch_is_a_point_at_its_place_and_stages_do_not_join() {
        let rows = [
            row("pass 1", 1, (3.0, Some(60.0))),
            row("pass 1", 2, (f64::NAN, None)),
            row("<pass> 2", 1, (1.0, Some(40.0))),
        ];
        let svg = draw(&rows);
        let lines: Vec<&str> = svg.lines().filter(|line| line.starts_with("<polyline")).collect();
        // Training from 1 to 3.1 in steps of 0.5; epochs 1 and 3 at the ends of the axis.
        let y =
            |value: f64, (low, high): (f64, f64), top: f64| top + PLOT_HEIGHT * (1.0 - (value - low) / (high - low));
        let place = |x: f64, y: f64| format!("points=\"{x:.1},{y:.1}\"");
        assert!(lines[0].contains(&place(LEFT, y(3.0, (1.0, 3.5), TOP))), "{}", lines[0]);
        assert!(lines[1].contains(&place(WIDTH - RIGHT, y(1.0, (1.0, 3.5), TOP))), "{}", lines[1]);
        let second = PANEL_HEIGHT + TOP;
        assert!(lines[4].contains(&place(LEFT, y(60.0, (40.0, 60.0), second))), "{}", lines[4]);
        assert!(lines[5].contains(&place(WIDTH - RIGHT, y(40.0, (40.0, 60.0), second))), "{}", lines[5]);
        assert_eq!((lines.len(), svg.matches("<circle").count()), (6, 6));
        assert!(svg.contains("&lt;pass> 2") && !svg.contains("NaN"));
        assert_eq!(svg.matches("<text").count(), svg.matches("</text>").count());
    }

    #[test]
    fn what_a_diverging_run_says_is_drawn() {
        for losses in
            [[1e10, 1e10], [1e30, 1e30], [3e99, -3e99], [f64::MAX, f64::MIN], [f64::INFINITY, 1.0], [5e-324, 0.0]]
        {
            let rows = losses.map(|loss| row("pass 1", 1, (loss, Some(loss))));
            let svg = draw(&rows);
            assert!(svg.ends_with("</svg>\n") && !svg.contains("NaN") && !svg.contains("inf"), "{losses:?}: {svg}");
            assert!(svg.len() < 10_000, "{losses:?}: {}", svg.len());
        }
    }

    #[test]
    fn nothing_to_draw_is_drawn_as_axes() {
        let svg = draw(&[]);
        assert!(svg.starts_with("<svg") && svg.ends_with("</svg>\n") && !svg.contains("NaN") && !svg.contains("inf"));
    }
}
