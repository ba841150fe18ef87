//! Strongly connected components: sets of nodes that all lead to each other.

use super::super::net::Net;

/// The sizes of the components of `net`, the largest first (Tarjan 1972, "Depth-first search and linear graph algorithms"; with
/// a stack of its own, for a graph may be deep).
pub fn components(net: &Net) -> Vec<usize> {
    let mut search = Search::new(net);
    for node in 0..net.nodes().len() {
        if search.number[node] == UNSEEN {
            search.from(node);
        }
    }
    search.sizes.sort_unstable_by(|a, b| b.cmp(a));
    search.sizes
}

const UNSEEN: usize = usize::MAX;
/// Number of a node whose component is known.
const DONE: usize = usize::MAX - 1;

struct Search<'a> {
    net: &'a Net,
    /// The order in which nodes are met.
    number: Vec<usize>,
    /// The least number that is reached from below a node.
    low: Vec<usize>,
    /// Nodes met whose component is not known yet.
    pending: Vec<usize>,
    met: usize,
    sizes: Vec<usize>,
}

impl<'a> Search<'a> {
    fn new(net: &'a Net) -> Self {
        let count = net.nodes().len();
        Self { net, number: vec![UNSEEN; count], low: vec![0; count], pending: vec![], met: 0, sizes: vec![] }
    }

    fn meet(&mut self, node: usize) {
        (self.number[node], self.low[node]) = (self.met, self.met);
        self.met += 1;
        self.pending.push(node);
    }

    /// Depth first; the stack holds nodes, each with its next link.
    fn from(&mut self, root: usize) {
        self.meet(root);
        let mut stack = vec![(root, 0)];
        while let Some((node, next)) = stack.last_mut() {
            let node = *node;
            if let Some(link) = self.net.links(node).get(*next) {
                *next += 1;
                match self.number[link.to] {
                    UNSEEN => {
                        self.meet(link.to);
                        stack.push((link.to, 0));
                    }
                    DONE => {}
                    number => self.low[node] = self.low[node].min(number),
                }
                continue;
            }
            stack.pop();
            if let Some((above, _)) = stack.last() {
                self.low[*above] = self.low[*above].min(self.low[node]);
            }
            if self.low[node] == self.number[node] {
                self.close(node);
            }
        }
    }

    /// What was met since `root` is its component.
    fn close(&mut self, root: usize) {
        let first = self.pending.iter().rposition(|&node| node == root).unwrap_or(0);
        self.sizes.push(self.pending.len() - first);
        self.pending.drain(first..).for_each(|node| self.number[node] = DONE);
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::GraphSpec;
    use super::*;

    /// Compared with reachability both ways, on the pairs that the bits of `case` allow among four symbols.
    #[test]
    fn components_are_those_of_mutual_reachability() {
        let names = ["a", "b", "c", "d"];
        let mut compared = 0;
        for case in (0..1_u32 << 16).step_by(37) {
            let allowed = |from: usize, to: usize| case >> (4 * from + to) & 1 == 1;
            let mut text =
                "format = 1\n[classes]\nall = ['a', 'b', 'c', 'd']\n[boundary]\nstart = '*'\nend = '*'\n".to_owned();
            for (from, to) in (0..16).map(|pair| (pair / 4, pair % 4)).filter(|&(from, to)| allowed(from, to)) {
                text += &format!("[[allow]]\nfrom = '{}'\nto = '{}'\n", names[from], names[to]);
            }
            text += "[topology.default]\nstates = 1\nself_loop = false\n";
            let spec = GraphSpec::parse(&text).unwrap();
            let mut reach: Vec<Vec<bool>> =
                (0..4).map(|from| (0..4).map(|to| from == to || allowed(from, to)).collect()).collect();
            for (via, from, to) in (0..64).map(|all| (all / 16, all / 4 % 4, all % 4)) {
                reach[from][to] |= reach[from][via] && reach[via][to];
            }
            let mates = |node: usize| (0..4).filter(|&other| reach[node][other] && reach[other][node]).collect();
            let mut classes: Vec<Vec<usize>> = (0..4).map(mates).collect();
            classes.sort();
            classes.dedup();
            let mut sizes: Vec<usize> = classes.iter().map(Vec::len).collect();
            sizes.sort_unstable_by(|a, b| b.cmp(a));
            assert_eq!(components(&Net::new(&spec, &spec.compile().unwrap())), sizes, "{text}");
            compared += 1;
        }
        assert!(compared > 1000);
    }
}
