//! A drawing as a picture in SVG, made here.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::layout::{self, Direction, Heads, Placed, Point, Route, Size, layout};
use super::{Arrow, Drawing, Kind, Node, factor, lines};
use crate::{Error, Result};

/// Boxes and arrows beyond which nobody could read the picture.
const MOST_BOXES: usize = 200;
const MOST_ARROWS: usize = 1000;

const MARGIN: f64 = 30.0;
const LINE_HEIGHT: f64 = 17.0;
const LOOP_HEIGHT: f64 = 34.0;
const LEGEND: &str =
    "arrow from outside: may begin; double frame: may end; loop: may follow itself; number: factor, e to the weight";
const LEGEND_STATES: &str = "square: a symbol begins; round: it goes on; arrow from outside: may begin; double frame: may end; number: factor, e to the weight";

/// The picture of `drawing`.
///
/// # Errors
/// [`Error::Other`] when it has more than 200 boxes or 1000 arrows.
pub fn svg(drawing: &Drawing) -> Result<String> {
    let (boxes, arrows) = (drawing.nodes.len(), drawing.arrows.len());
    if boxes > MOST_BOXES || arrows > MOST_ARROWS {
        let most = format!("{MOST_BOXES} boxes and {MOST_ARROWS} arrows are the most that can be read");
        let advice = "use `senone graph dot` and Graphviz";
        return Err(Error::Other(format!(
            "the picture would have {boxes} boxes and {arrows} arrows: {most}; {advice}"
        )));
    }
    let looped = |node: usize| drawing.arrows.iter().any(|arrow| arrow.from == node && arrow.to == node);
    let sizes: Vec<Size> = drawing.nodes.iter().enumerate().map(|(index, node)| size(node, looped(index))).collect();
    let (loops, others): (Vec<&Arrow>, Vec<&Arrow>) = drawing.arrows.iter().partition(|arrow| arrow.from == arrow.to);
    let others = joined(&others);
    let arrows: Vec<layout::Arrow> = others.iter().map(|(arrow, _)| *arrow).collect();
    let first: Vec<usize> = (0..boxes).filter(|&node| drawing.nodes[node].start.is_some()).collect();
    let labelled = if others.iter().any(|(_, score)| factor(*score).is_some()) { 40.0 } else { 0.0 };
    let placed = layout(&sizes, &arrows, &first, labelled);

    let mut picture = Picture::default();
    for ((arrow, score), route) in others.iter().zip(&placed.routes) {
        picture.route(route, arrow.heads, factor(*score));
    }
    loops.iter().for_each(|arrow| picture.own_loop(&placed.boxes[arrow.from], factor(arrow.score)));
    drawing.nodes.iter().zip(&placed.boxes).for_each(|(node, at)| picture.node(node, at));
    let inner = drawing.nodes.iter().any(|node| node.kind == Kind::Inner);
    Ok(picture.finish(placed.width, placed.height, if inner { LEGEND_STATES } else { LEGEND }))
}

/// The arrows with their scores; two that lead to and fro with the same score are one with two heads.
fn joined(arrows: &[&Arrow]) -> Vec<(layout::Arrow, f32)> {
    let scores: BTreeMap<(usize, usize), u32> =
        arrows.iter().map(|arrow| ((arrow.from, arrow.to), arrow.score.to_bits())).collect();
    let one = |arrow: &&Arrow| {
        let (from, to) = (arrow.from, arrow.to);
        let two = scores.get(&(to, from)) == Some(&arrow.score.to_bits());
        let heads = if two { Heads::Two } else { Heads::One };
        (!two || from < to).then_some((layout::Arrow { from, to, heads }, arrow.score))
    };
    arrows.iter().filter_map(one).collect()
}

fn size(node: &Node, looped: bool) -> Size {
    let lines = lines(node);
    let width = lines.iter().map(|line| text_width(line, 13.0)).fold(0.0, f64::max);
    let height = (lines.len() as f64 * LINE_HEIGHT + 16.0).max(34.0);
    let start = if node.start.is_some() { 12.0 } else { 0.0 };
    Size { width: (width + 24.0).max(44.0), height, above: if looped { LOOP_HEIGHT } else { start } }
}

/// About as wide as a sans-serif font of `size` pixels draws `text`.
fn text_width(text: &str, size: f64) -> f64 {
    text.chars().map(|c| if c.is_ascii() { 0.6 * size } else { size }).sum()
}

/// What is drawn, from the bottom up.
#[derive(Default)]
struct Picture {
    lines: String,
    boxes: String,
    labels: String,
    /// Where labels stand: centre and width.
    taken: Vec<(Point, f64)>,
}

impl Picture {
    fn route(&mut self, route: &Route, heads: Heads, label: Option<String>) {
        let mut path = format!("M {}", at(route.points[0]));
        for (step, pair) in route.points.windows(2).enumerate() {
            path += &match step % 2 {
                0 => {
                    let [a, b] = controls(pair[0], pair[1]);
                    format!(" C {} {} {}", at(a), at(b), at(pair[1]))
                }
                _ => format!(" L {}", at(pair[1])),
            };
        }
        let class = if route.direction == Direction::Back { "back" } else { "onward" };
        let _ = writeln!(self.lines, "<path class=\"{class}\" d=\"{path}\"/>");
        let level = |from: Point, to: Point| Point { x: (to.x - from.x).signum(), y: 0.0 };
        let last = route.points.len() - 1;
        self.head(class, route.points[last], level(route.points[last - 1], route.points[last]));
        if heads == Heads::Two {
            self.head(class, route.points[0], level(route.points[1], route.points[0]));
        }
        if let Some(label) = label {
            let place = self.free_place(&route.points, &label);
            self.label(&label, place);
        }
    }

    /// The head of an arrow that arrives at `tip` in `direction`, of length 1.
    fn head(&mut self, class: &str, tip: Point, direction: Point) {
        let corner = |side: f64| Point {
            x: tip.x - 8.0 * direction.x - side * direction.y,
            y: tip.y - 8.0 * direction.y + side * direction.x,
        };
        let (left, right) = (at(corner(-3.4)), at(corner(3.4)));
        let _ = writeln!(self.lines, "<path class=\"tip {class}\" d=\"M {left} L {} L {right} z\"/>", at(tip));
    }

    /// Where on the first or last bend of a route there is room for `label`; its middle when there is none.
    fn free_place(&self, points: &[Point], label: &str) -> Point {
        let bends = [(points[0], points[1]), (points[points.len() - 2], points[points.len() - 1])];
        let along = bends.iter().flat_map(|&(a, b)| [0.5, 0.35, 0.65, 0.25, 0.75].map(|t| on_curve(a, b, t)));
        let width = text_width(label, 11.0);
        let free = |place: &Point| {
            let near = |(other, its): &&(Point, f64)| {
                (place.x - other.x).abs() < (width + its) / 2.0 + 3.0 && (place.y - other.y).abs() < 14.0
            };
            self.taken.iter().find(near).is_none()
        };
        along.clone().find(free).unwrap_or(on_curve(points[0], points[1], 0.5))
    }

    fn label(&mut self, text: &str, place: Point) {
        let width = text_width(text, 11.0);
        self.taken.push((place, width));
        let (left, top) = (place.x - width / 2.0 - 1.0, place.y - 7.0);
        let _ = writeln!(
            self.labels,
            "<rect class=\"paper\" x=\"{left:.1}\" y=\"{top:.1}\" width=\"{:.1}\" height=\"14\"/><text class=\"label\" \
             x=\"{:.1}\" y=\"{:.1}\">{}</text>",
            width + 2.0,
            place.x,
            place.y + 4.0,
            escaped(text)
        );
    }

    fn own_loop(&mut self, Placed { centre, size }: &Placed, label: Option<String>) {
        let (x, y) = (centre.x, centre.y - size.height / 2.0);
        let ends = [-8.0, -24.0, 24.0, 8.0]
            .map(|dx: f64| Point { x: x + dx, y: if dx.abs() > 10.0 { y - LOOP_HEIGHT * 0.95 } else { y } });
        let [from, a, b, to] = ends.map(at);
        let _ = writeln!(self.lines, "<path class=\"onward\" d=\"M {from} C {a} {b} {to}\"/>");
        self.head("onward", ends[3], unit(ends[2], ends[3]));
        if let Some(label) = label {
            self.label(&label, Point { x, y: y - LOOP_HEIGHT * 0.72 });
        }
    }

    fn node(&mut self, node: &Node, Placed { centre, size }: &Placed) {
        let (left, top) = (centre.x - size.width / 2.0, centre.y - size.height / 2.0);
        let round = if node.kind == Kind::Inner { size.height.min(34.0) / 2.0 } else { 4.0 };
        let mut frame = |class: &str, inset: f64| {
            let _ = writeln!(
                self.boxes,
                "<rect class=\"{class}\" x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" rx=\"{:.1}\"/>",
                left + inset,
                top + inset,
                size.width - 2.0 * inset,
                size.height - 2.0 * inset,
                round
            );
        };
        frame("box", 0.0);
        if node.end.is_some() {
            frame("end", 3.5);
        }
        let lines = lines(node);
        let first = centre.y - (lines.len() - 1) as f64 * LINE_HEIGHT / 2.0 + 4.5;
        for (place, line) in lines.iter().enumerate() {
            let y = first + place as f64 * LINE_HEIGHT;
            let _ = writeln!(self.boxes, "<text x=\"{:.1}\" y=\"{y:.1}\">{}</text>", centre.x, escaped(line));
        }
        if let Some(score) = node.start {
            let (tail, tip) = (Point { x: left - 20.0, y: top - 12.0 }, Point { x: left, y: top + 2.0 });
            let _ = writeln!(self.lines, "<path class=\"onward\" d=\"M {} L {}\"/>", at(tail), at(tip));
            self.head("onward", tip, unit(tail, tip));
            if let Some(label) = factor(score) {
                self.label(&label, Point { x: left - 20.0, y: top - 20.0 });
            }
        }
    }

    fn finish(self, width: f64, height: f64, legend: &str) -> String {
        let full_width = (width + 2.0 * MARGIN).max(text_width(legend, 10.0) + MARGIN);
        let full_height = height + 2.0 * MARGIN + 26.0;
        let shift = (full_width - width) / 2.0;
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{full_width:.0}\" height=\"{full_height:.0}\" \
             viewBox=\"0 0 {full_width:.0} {full_height:.0}\">\n<style>\n{STYLE}</style>\n<rect class=\"paper\" width=\"100%\" height=\"100%\"/>\n<g transform=\"translate({shift:.1} {MARGIN})\">\n{}{}{}</g>\n\
             <text class=\"legend\" x=\"{:.1}\" y=\"{:.1}\">{}</text>\n</svg>\n",
            self.lines,
            self.labels,
            self.boxes,
            full_width / 2.0,
            full_height - 12.0,
            escaped(legend)
        )
    }
}

const STYLE: &str = "text { font: 13px sans-serif; text-anchor: middle; fill: #1c2733 }
.label { font-size: 11px; fill: #444 }
.legend { font-size: 10px; fill: #777 }
.paper { fill: #fff }
.box { fill: #eef3fa; stroke: #34506b; stroke-width: 1.3 }
.end { fill: none; stroke: #34506b; stroke-width: 1.1 }
path { fill: none; stroke-width: 1.2 }
.onward { stroke: #34506b }
.back { stroke: #b5562f }
.tip.onward { fill: #34506b; stroke: none }
.tip.back { fill: #b5562f; stroke: none }
";

fn at(point: Point) -> String {
    format!("{:.1} {:.1}", point.x, point.y)
}

/// The direction from one place to another, of length 1.
fn unit(from: Point, to: Point) -> Point {
    let length = (to.x - from.x).hypot(to.y - from.y);
    Point { x: (to.x - from.x) / length, y: (to.y - from.y) / length }
}

/// The inner control points of a curve that is level at both ends.
fn controls(from: Point, to: Point) -> [Point; 2] {
    let middle = (from.x + to.x) / 2.0;
    [Point { x: middle, y: from.y }, Point { x: middle, y: to.y }]
}

/// The point at `t` of Bezier's curve: `(1-t)^3 a + 3 (1-t)^2 t b + 3 (1-t) t^2 c + t^3 d`.
fn on_curve(from: Point, to: Point, t: f64) -> Point {
    let [b, c] = controls(from, to);
    let s = 1.0 - t;
    let mix =
        |a: f64, b: f64, c: f64, d: f64| s * s * s * a + 3.0 * s * s * t * b + 3.0 * s * t * t * c + t * t * t * d;
    Point { x: mix(from.x, b.x, c.x, to.x), y: mix(from.y, b.y, c.y, to.y) }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::super::super::{GraphSpec, net::Net};
    use super::super::tests::YES_NO;
    use super::*;

    fn picture(text: &str) -> Result<String> {
        let spec = GraphSpec::parse(text)?;
        svg(&Drawing::of_symbols(&Net::new(&spec, &spec.compile()?)))
    }

    #[test]
    fn a_picture_has_its_boxes_arrows_and_labels() {
        let found = picture(YES_NO).unwrap();
        let count = |what: &str| found.matches(what).count();
        assert_eq!((count("class=\"box\""), count("class=\"end\"")), (2, 1));
        // One from outside, one onward, one back.
        assert_eq!((count("<path class=\"onward\""), count("<path class=\"back\"")), (2, 1));
        assert!(found.contains(">yes no</text>") && found.contains(">0.5</text>"), "{found}");
        let looped = picture(&YES_NO.replace("[topology", "[[allow]]\nfrom = 'no'\nto = 'no'\n[topology")).unwrap();
        assert!(looped.contains(">no</text>") && looped.contains(">yes</text>"));
        let same = picture(&YES_NO.replace("weight = -0.6931472\n", "")).unwrap();
        assert_eq!((same.matches("<path class=\"tip onward").count(), same.matches("class=\"back\"").count()), (3, 0));
        assert_eq!(picture(&YES_NO.replace("'no'", "'<&>'")).unwrap().matches("yes &lt;&amp;&gt;").count(), 1);
    }

    #[test]
    fn what_nobody_could_read_is_refused() {
        // A cycle, so that no two symbols are alike.
        let text = |count: usize| {
            let names: Vec<String> = (0..count).map(|n| format!("s{n}")).collect();
            let rules = (0..count).map(|n| format!("[[allow]]\nfrom = 's{n}'\nto = 's{}'\n", (n + 1) % count));
            let rules: String = rules.collect();
            format!(
                "format = 1\n[classes]\nall = {names:?}\n[boundary]\nstart = '*'\nend = '*'\n{rules}[topology.default]\nstates = 1\n\
                 self_loop = false\n"
            )
        };
        assert!(picture(&text(200)).is_ok());
        let error = picture(&text(201)).unwrap_err().to_string();
        assert!(error.starts_with("the picture would have 201 boxes and 201 arrows"), "{error}");
        assert!(error.contains("senone graph dot"), "{error}");
    }
}
