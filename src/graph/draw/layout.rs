//! Where boxes and arrows go: layers from left to right.
//!
//! After Sugiyama, Tagawa & Toda 1981 ("Methods for visual understanding of hierarchical system structures"): arrows that lead
//! back are turned round for a while, a box stands in the layer after all that lead to it, an arrow through several layers bends in each,
//! boxes of a layer are ordered by the mean place of their neighbours, and then moved towards them.

use std::collections::{BTreeMap, VecDeque};

/// A place in the picture, in pixels, downwards.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Point {
    pub x: f64,
    pub y: f64,
}

/// How large a box is; `above` is kept free over it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Size {
    pub width: f64,
    pub height: f64,
    pub above: f64,
}

/// A box in its place.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Placed {
    pub centre: Point,
    pub size: Size,
}

/// An arrow between two different boxes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Arrow {
    pub from: usize,
    pub to: usize,
    pub heads: Heads,
}

/// Whether an arrow stands for the step back, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Heads {
    One,
    Two,
}

/// What an arrow does, by the layers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    Onward,
    Back,
}

/// An arrow in its place: from its first point to its last, level at each, straight from the second to the third, and so on.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Route {
    pub points: Vec<Point>,
    pub direction: Direction,
}

/// Everything in its place.
pub(super) struct Layout {
    pub boxes: Vec<Placed>,
    pub routes: Vec<Route>,
    pub width: f64,
    pub height: f64,
}

const GAP_Y: f64 = 16.0;
const GAP_X: f64 = 60.0;
/// Wider for each arrow between two layers, up to so much.
const GAP_ARROW: f64 = 2.0;
const GAP_MOST: f64 = 200.0;
const PORT: f64 = 9.0;
const BEND_HEIGHT: f64 = 8.0;
const SWEEPS: usize = 24;

/// A box, or the bend of an arrow, in a layer.
#[derive(Debug, Clone, Copy)]
struct Item {
    layer: usize,
    size: Size,
    y: f64,
}

/// A step of an arrow from one layer to the next, by items.
type Hop = (usize, usize);

/// Lays out boxes of `sizes` and `arrows` between different ones; a layer has `labelled` pixels after it for labels. The boxes
/// of `first` come first.
pub(super) fn layout(sizes: &[Size], arrows: &[Arrow], first: &[usize], labelled: f64) -> Layout {
    let oriented = oriented(sizes.len(), arrows, first);
    let layers = layers(sizes.len(), &oriented);
    let mut items: Vec<Item> = sizes.iter().zip(&layers).map(|(&size, &layer)| Item { layer, size, y: 0.0 }).collect();
    make_room_for_ports(&mut items, &oriented);
    let chains: Vec<Vec<usize>> = oriented.iter().map(|&(from, to, _)| chain(&mut items, (from, to))).collect();
    let hops: Vec<Hop> = chains.iter().flat_map(|chain| chain.windows(2).map(|pair| (pair[0], pair[1]))).collect();
    let order = ordered(&items, &hops);
    set_heights(&mut items, &hops, &order);
    let directions: Vec<Direction> = oriented.iter().map(|arrow| arrow.2).collect();
    finish(&items, &order, (&chains, &directions), (sizes.len(), labelled))
}

/// How each arrow runs, and its layers' boxes from left to right, in the better of two orders of the boxes: depth first, which is
/// best where there are few ways back, and breadth first, which is best where there are many.
fn oriented(count: usize, arrows: &[Arrow], first: &[usize]) -> Vec<(usize, usize, Direction)> {
    let mut onward: Vec<Vec<usize>> = vec![vec![]; count];
    for arrow in arrows {
        onward[arrow.from].push(arrow.to);
        if arrow.heads == Heads::Two {
            onward[arrow.to].push(arrow.from);
        }
    }
    let roots: Vec<usize> = first.iter().copied().chain(0..count).collect();
    let along = |rank: Vec<usize>| -> Vec<(usize, usize, Direction)> {
        let turn = |&Arrow { from, to, heads }: &Arrow| match heads {
            _ if rank[from] < rank[to] => (from, to, Direction::Onward),
            Heads::One => (to, from, Direction::Back),
            Heads::Two => (to, from, Direction::Onward),
        };
        arrows.iter().map(turn).collect()
    };
    let [deep, broad] = [along(depth_first(&onward, &roots)), along(breadth_first(&onward, &roots))];
    if burden(count, &broad) < burden(count, &deep) { broad } else { deep }
}

/// The layers that arrows pass, and three for each that leads back.
fn burden(count: usize, arrows: &[(usize, usize, Direction)]) -> usize {
    let layers = layers(count, arrows);
    let own = |&(from, to, direction): &(usize, usize, Direction)| {
        layers[to] - layers[from] + if direction == Direction::Back { 3 } else { 0 }
    };
    arrows.iter().map(own).sum()
}

/// For each box its place among all: before those that it leads to, but for cycles.
fn depth_first(onward: &[Vec<usize>], roots: &[usize]) -> Vec<usize> {
    let mut met = vec![false; onward.len()];
    let mut rank = vec![0; onward.len()];
    let mut left = onward.len();
    for &root in roots {
        if std::mem::replace(&mut met[root], true) {
            continue;
        }
        let mut stack = vec![(root, 0)];
        while let Some((node, next)) = stack.last_mut() {
            match onward[*node].get(*next) {
                Some(&to) => {
                    *next += 1;
                    if !std::mem::replace(&mut met[to], true) {
                        stack.push((to, 0));
                    }
                }
                None => {
                    left -= 1;
                    rank[*node] = left;
                    stack.pop();
                }
            }
        }
    }
    rank
}

/// For each box its place among all: the closer to `roots`, the earlier; a box that none of them leads to comes later.
fn breadth_first(onward: &[Vec<usize>], roots: &[usize]) -> Vec<usize> {
    let mut rank = vec![usize::MAX; onward.len()];
    let mut open: VecDeque<usize> = roots.iter().copied().collect();
    let mut next = 0;
    while let Some(node) = open.pop_front() {
        if rank[node] == usize::MAX {
            rank[node] = next;
            next += 1;
            open.extend(&onward[node]);
        }
    }
    rank
}

/// `layer(n) = 1 + max layer(m)` over all m that lead to n; 0 where none does. `arrows` have no cycle.
fn layers(count: usize, arrows: &[(usize, usize, Direction)]) -> Vec<usize> {
    let mut layers = vec![0; count];
    for _ in 0..count {
        let mut moved = false;
        for &(from, to, _) in arrows {
            if layers[to] <= layers[from] {
                layers[to] = layers[from] + 1;
                moved = true;
            }
        }
        if !moved {
            break;
        }
    }
    layers
}

/// A side of a box is as high as its arrows need.
fn make_room_for_ports(items: &mut [Item], arrows: &[(usize, usize, Direction)]) {
    let mut ports = vec![[0; 2]; items.len()];
    for &(from, to, _) in arrows {
        ports[from][1] += 1;
        ports[to][0] += 1;
    }
    for (item, ports) in items.iter_mut().zip(ports) {
        item.size.height = item.size.height.max(PORT * (ports[0].max(ports[1]) + 1) as f64);
    }
}

/// The items from one end of an arrow to the other, with a new bend in each layer between.
fn chain(items: &mut Vec<Item>, (from, to): (usize, usize)) -> Vec<usize> {
    let mut chain = vec![from];
    for layer in items[from].layer + 1..items[to].layer {
        chain.push(items.len());
        items.push(Item { layer, size: Size { width: 0.0, height: BEND_HEIGHT, above: 0.0 }, y: 0.0 });
    }
    chain.push(to);
    chain
}

/// The items of each layer, in the order of the fewest crossings that sweeping to and fro has met.
fn ordered(items: &[Item], hops: &[Hop]) -> Vec<Vec<usize>> {
    let layers = 1 + items.iter().map(|item| item.layer).max().unwrap_or(0);
    let mut order = vec![vec![]; layers];
    (0..items.len()).for_each(|item| order[items[item].layer].push(item));
    let neighbours = neighbours(items.len(), hops);
    let mut best = (crossings(items, hops, &order), order.clone());
    for sweep in 0..SWEEPS {
        let side = sweep % 2; // by the layer before, going right; by the layer after, going left
        let range: Vec<usize> = if side == 0 { (1..layers).collect() } else { (0..layers - 1).rev().collect() };
        for layer in range {
            let place = places(items.len(), &order);
            let mean = |&item: &usize| {
                let near = &neighbours[item][side];
                let sum: usize = near.iter().map(|&other| place[other]).sum();
                if near.is_empty() { place[item] as f64 } else { sum as f64 / near.len() as f64 }
            };
            order[layer].sort_by(|a, b| mean(a).total_cmp(&mean(b)));
        }
        let found = crossings(items, hops, &order);
        if found < best.0 {
            best = (found, order.clone());
        }
    }
    best.1
}

/// For each item its neighbours in the layers before and after.
fn neighbours(count: usize, hops: &[Hop]) -> Vec<[Vec<usize>; 2]> {
    let mut neighbours = vec![[vec![], vec![]]; count];
    for &(left, right) in hops {
        neighbours[left][1].push(right);
        neighbours[right][0].push(left);
    }
    neighbours
}

fn places(count: usize, order: &[Vec<usize>]) -> Vec<usize> {
    let mut places = vec![0; count];
    order.iter().flat_map(|layer| layer.iter().enumerate()).for_each(|(place, &item)| places[item] = place);
    places
}

fn crossings(items: &[Item], hops: &[Hop], order: &[Vec<usize>]) -> usize {
    let place = places(items.len(), order);
    let mut by_layer: Vec<Vec<(usize, usize)>> = vec![vec![]; order.len()];
    hops.iter().for_each(|&(left, right)| by_layer[items[left].layer].push((place[left], place[right])));
    let crossing = |all: &Vec<(usize, usize)>| {
        let pairs = all.iter().enumerate().flat_map(|(index, a)| all[index + 1..].iter().map(move |b| (a, b)));
        pairs.filter(|(a, b)| (a.0 < b.0 && a.1 > b.1) || (a.0 > b.0 && a.1 < b.1)).count()
    };
    by_layer.iter().map(crossing).sum()
}

/// Moves items towards their neighbours, in their order, a gap apart: each layer in turn as close to the means of its
/// neighbours as can be, `min sum_i (y_i - mean_i)^2`.
fn set_heights(items: &mut [Item], hops: &[Hop], order: &[Vec<usize>]) {
    let neighbours = neighbours(items.len(), hops);
    for sweep in 0..SWEEPS {
        let range: Vec<usize> =
            if sweep % 2 == 0 { (0..order.len()).collect() } else { (0..order.len()).rev().collect() };
        for layer in range {
            let wanted = |item: usize| {
                let near: Vec<usize> = neighbours[item].iter().flatten().copied().collect();
                let sum: f64 = near.iter().map(|&other| items[other].y).sum();
                if near.is_empty() { items[item].y } else { sum / near.len() as f64 }
            };
            let wanted: Vec<f64> = order[layer].iter().map(|&item| wanted(item)).collect();
            let apart: Vec<f64> =
                order[layer].windows(2).map(|pair| distance(&items[pair[0]], &items[pair[1]])).collect();
            let found = as_close(&wanted, &apart);
            order[layer].iter().zip(found).for_each(|(&item, y)| items[item].y = y);
        }
    }
}

/// Between the centres of neighbours in a layer.
fn distance(upper: &Item, lower: &Item) -> f64 {
    (upper.size.height + lower.size.height) / 2.0 + lower.size.above + GAP_Y
}

/// The places closest to `wanted`, in squares, that are at least `apart`: isotonic regression by pooling neighbours that
/// would come too close (Ayer et al. 1955), after the distances are taken off.
fn as_close(wanted: &[f64], apart: &[f64]) -> Vec<f64> {
    let mut offset = 0.0;
    let further = apart.iter().map(|gap| {
        offset += gap;
        offset
    });
    let offsets: Vec<f64> = std::iter::once(0.0).chain(further).collect();
    let mut pools: Vec<(f64, usize)> = vec![];
    for (wanted, offset) in wanted.iter().zip(&offsets) {
        let mut pool = (wanted - offset, 1);
        while let Some(&(mean, count)) = pools.last().filter(|(mean, _)| *mean > pool.0) {
            pool = ((mean * count as f64 + pool.0 * pool.1 as f64) / (count + pool.1) as f64, count + pool.1);
            pools.pop();
        }
        pools.push(pool);
    }
    let means = pools.iter().flat_map(|&(mean, count)| std::iter::repeat_n(mean, count));
    means.zip(&offsets).map(|(mean, offset)| mean + offset).collect()
}

/// Columns for the layers, whose boxes are all as wide as the widest; ports for the arrows.
fn finish(
    items: &[Item],
    order: &[Vec<usize>],
    (chains, directions): (&[Vec<usize>], &[Direction]),
    (boxes, labelled): (usize, f64),
) -> Layout {
    let top = items.iter().map(|item| item.y - item.size.height / 2.0 - item.size.above).fold(f64::INFINITY, f64::min);
    let bottom = items.iter().map(|item| item.y + item.size.height / 2.0).fold(f64::NEG_INFINITY, f64::max);
    let mut columns = vec![];
    let mut x = 0.0;
    let mut crossing = vec![0; order.len()];
    chains.iter().flat_map(|chain| &chain[..chain.len() - 1]).for_each(|&item| crossing[items[item].layer] += 1);
    for (layer, arrows) in order.iter().zip(crossing) {
        let width = layer.iter().map(|&item| items[item].size.width).fold(0.0, f64::max);
        columns.push((x, x + width));
        x += width + GAP_X + labelled + (GAP_ARROW * f64::from(arrows)).min(GAP_MOST);
    }
    let side = |item: usize, side: usize| {
        let (left, right) = columns[items[item].layer];
        if side == 0 { left } else { right }
    };
    let ports = ports(items, chains);
    let route = |((chain, ys), &direction): ((&Vec<usize>, &Vec<f64>), &Direction)| {
        let mut points: Vec<Point> = vec![];
        for (place, (&item, y)) in chain.iter().zip(ys).enumerate() {
            let sides = usize::from(place == 0)..2 - usize::from(place + 1 == chain.len());
            points.extend(sides.map(|s| Point { x: side(item, s), y: y - top }));
        }
        if direction == Direction::Back {
            points.reverse();
        }
        Route { points, direction }
    };
    let placed = |(item, own): (usize, &Item)| Placed {
        centre: Point { x: (side(item, 0) + side(item, 1)) / 2.0, y: own.y - top },
        size: Size { width: side(item, 1) - side(item, 0), ..own.size },
    };
    Layout {
        boxes: items[..boxes].iter().enumerate().map(placed).collect(),
        routes: chains.iter().zip(&ports).zip(directions).map(route).collect(),
        width: columns.last().map_or(0.0, |column| column.1),
        height: bottom - top,
    }
}

/// An arrow's end at a box: the height of the neighbour, the chain, and the place in the chain.
type End = (f64, usize, usize);

/// The heights at which each chain passes its items: at boxes, arrows are spread over the side, ordered by where they go.
fn ports(items: &[Item], chains: &[Vec<usize>]) -> Vec<Vec<f64>> {
    let mut heights: Vec<Vec<f64>> =
        chains.iter().map(|chain| chain.iter().map(|&item| items[item].y).collect()).collect();
    let mut ends: BTreeMap<(usize, usize), Vec<End>> = BTreeMap::new(); // by box and side
    for (index, chain) in chains.iter().enumerate() {
        let last = chain.len() - 1;
        ends.entry((chain[0], 1)).or_default().push((items[chain[1]].y, index, 0));
        ends.entry((chain[last], 0)).or_default().push((items[chain[last - 1]].y, index, last));
    }
    for ((item, _), mut ends) in ends {
        ends.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let Item { y, size: Size { height, .. }, .. } = items[item];
        let step = height / (ends.len() + 1) as f64;
        for (port, (_, chain, place)) in ends.into_iter().enumerate() {
            heights[chain][place] = y - height / 2.0 + step * (port + 1) as f64;
        }
    }
    heights
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOX: Size = Size { width: 40.0, height: 30.0, above: 10.0 };

    /// By trying every arrangement of whole numbers: none that keeps the distances is closer.
    #[test]
    fn items_are_as_close_as_can_be_to_where_they_want() {
        let apart = [2.0, 1.0, 3.0];
        for wanted in [
            [0.0, 0.0, 0.0, 0.0],
            [5.0, 1.0, 4.0, 2.0],
            [0.0, 2.0, 3.0, 6.0],
            [9.0, 0.0, 9.0, 0.0],
            [0.0, 1.5, 2.0, 6.0],
        ] {
            let found = as_close(&wanted, &apart);
            assert!(found.windows(2).zip(apart).all(|(pair, gap)| pair[1] - pair[0] >= gap - 1e-9));
            let cost = |ys: &[f64]| ys.iter().zip(wanted).map(|(y, w)| (y - w) * (y - w)).sum::<f64>();
            let best = cost(&found);
            for code in 0..24_usize.pow(4) {
                let ys = [0, 1, 2, 3].map(|place| (code / 24_usize.pow(place) % 24) as f64 - 7.0);
                let kept = ys.windows(2).zip(apart).all(|(pair, gap)| pair[1] - pair[0] >= gap);
                assert!(!kept || cost(&ys) >= best - 1e-9, "{wanted:?}: {ys:?} is closer than {found:?}");
            }
        }
    }

    fn arrow((from, to): (usize, usize)) -> Arrow {
        Arrow { from, to, heads: Heads::One }
    }

    /// Everything leads to everything: no two boxes overlap, and each arrow ends at its boxes' sides.
    #[test]
    fn boxes_do_not_overlap_and_arrows_meet_them() {
        for count in 1..7 {
            let pairs = (0..count * count).map(|pair| (pair / count, pair % count)).filter(|(a, b)| a != b);
            let arrows: Vec<Arrow> = pairs.map(arrow).collect();
            let found = layout(&vec![BOX; count], &arrows, &[0], 20.0);
            for (index, a) in found.boxes.iter().enumerate() {
                for b in &found.boxes[..index] {
                    let [dx, dy] = [(a.centre.x - b.centre.x).abs(), (a.centre.y - b.centre.y).abs()];
                    assert!(dx >= 40.0 || dy >= (a.size.height + b.size.height) / 2.0, "{a:?} {b:?}");
                }
            }
            for (route, arrow) in found.routes.iter().zip(&arrows) {
                let ends = [(route.points[0], arrow.from), (route.points[route.points.len() - 1], arrow.to)];
                for (point, at) in ends {
                    let Placed { centre, size } = found.boxes[at];
                    assert!(((point.x - centre.x).abs() - size.width / 2.0).abs() < 1e-9);
                    assert!((point.y - centre.y).abs() < size.height / 2.0);
                }
                let onward = route.points[0].x < route.points[1].x;
                assert_eq!(onward, route.direction == Direction::Onward);
            }
        }
    }

    #[test]
    fn arrows_run_onward_where_they_can() {
        let oriented = |pairs: &[(usize, usize)]| {
            let arrows: Vec<Arrow> = pairs.iter().copied().map(arrow).collect();
            let found = oriented(5, &arrows, &[0]);
            (found.iter().map(|arrow| arrow.2 == Direction::Onward).collect::<Vec<_>>(), layers(5, &found))
        };
        // No cycle, though 4 is one step from 0.
        assert_eq!(oriented(&[(0, 1), (1, 2), (2, 3), (3, 4), (0, 4)]), (vec![true; 5], vec![0, 1, 2, 3, 4]));
        assert_eq!(oriented(&[(0, 1), (1, 2), (2, 0), (0, 3), (3, 4)]).0, [true, true, false, true, true]);
        // Two and two that lead to each other, as initials and finals: three layers, not five.
        let both = [(0, 1), (0, 2), (1, 3), (1, 4), (2, 3), (2, 4), (3, 1), (3, 2), (4, 1), (4, 2)];
        assert_eq!(oriented(&both).1, [0, 1, 1, 2, 2]);
    }

    #[test]
    fn crossings_are_removed() {
        let items: Vec<Item> = [0, 0, 1, 1].map(|layer| Item { layer, size: BOX, y: 0.0 }).to_vec();
        let hops = [(0, 3), (1, 2)];
        assert_eq!(crossings(&items, &hops, &[vec![0, 1], vec![2, 3]]), 1);
        assert_eq!(crossings(&items, &hops, &ordered(&items, &hops)), 0);
    }
}
