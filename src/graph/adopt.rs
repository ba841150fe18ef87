//! A graph file put on a trained model: what is legal from the file, units and weights from the model.

use std::collections::BTreeMap;

use super::spec::GraphSpec;
use super::{TransitionRole, Weights};
use crate::symbols::{SymbolId, TransitionId};
use crate::{Error, Result};

impl GraphSpec {
    /// This constraint in the units of `model`, and the model's transition weights for it:
    ///
    /// `w(role) = w_model(role) + initial(role) - initial_model(role)`,
    ///
    /// so that a rule that weighs what it does in the model's own file has the trained weight. What the model has no weight for, a
    /// pair that only this file allows, has its initial one.
    ///
    /// # Errors
    /// [`Error::Config`] naming the first symbol, or its topology, that is not the model's.
    pub fn on_model(self, (model, weights): (&GraphSpec, &Weights)) -> Result<(GraphSpec, Weights)> {
        self.check_same(model)?;
        let ids = |spec: &GraphSpec| (0..spec.transitions()).map(TransitionId::from_index);
        let trained: BTreeMap<TransitionRole, TransitionId> =
            ids(model).map(|id| (model.transition_role(id), id)).collect();
        let initial = |spec: &GraphSpec, id: TransitionId| spec.parameters.initial()[id.index()];
        let own = |id: TransitionId| match trained.get(&self.transition_role(id)) {
            Some(&old) => weights.get(old) + (initial(&self, id) - initial(model, old)),
            None => initial(&self, id),
        };
        let weights = Weights(ids(&self).map(own).collect());
        Ok((self.with_units(model.units().clone())?, weights))
    }

    fn check_same(&self, model: &GraphSpec) -> Result<()> {
        let wrong = |reason: String| Err(Error::Config { path: self.path().to_owned(), reason });
        let (own, expected) = (self.symbols().names(), model.symbols().names());
        if let Some(place) = (0..own.len().max(expected.len())).find(|&place| own.get(place) != expected.get(place)) {
            let name = |names: &[String]| names.get(place).map_or("missing".to_owned(), |name| format!("'{name}'"));
            let (found, expected, place) = (name(own), name(expected), place + 1);
            return wrong(format!(
                "symbol {place} is {found}, and {expected} in the model: give it the model's symbols in order"
            ));
        }
        match self.symbols().ids().find(|&symbol| self.topology(symbol) != model.topology(symbol)) {
            None => Ok(()),
            Some(symbol) => wrong(self.other_topology(symbol, model)),
        }
    }

    fn other_topology(&self, symbol: SymbolId, model: &GraphSpec) -> String {
        let said = |spec: &GraphSpec| {
            let topology = spec.topology(symbol);
            let self_loop = topology.self_loop().map_or("false".to_owned(), |p| p.to_string());
            format!("states = {}, min_frames = {}, self_loop = {self_loop}", topology.states(), topology.min_frames())
        };
        let name = self.symbols().name(symbol);
        format!("the topology of '{name}' is {}, and {} in the model: give it the model's", said(self), said(model))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::toy::everything_goes;

    fn spec(changes: &[(&str, &str)]) -> GraphSpec {
        let text = everything_goes(&["a", "b"], "states = 1\nself_loop = 0.5");
        GraphSpec::parse(&changes.iter().fold(text, |text, (from, to)| text.replace(from, to))).unwrap()
    }

    #[test]
    fn trained_weights_go_to_the_roles_that_they_are_of() {
        let model = spec(&[]);
        let trained = Weights(model.initial_weights().0.iter().zip(0..).map(|(w, n)| w - n as f32).collect());
        let (same, weights) = spec(&[]).on_model((&model, &trained)).unwrap();
        assert!(weights.0.iter().zip(&trained.0).all(|(a, b)| (a - b).abs() < 1e-5));
        assert_eq!(same.pdfs(), 2);
        let fewer = spec(&[
            ("start = '*'", "start = 'b'"),
            ("to = '*'", "to = '*'\nweight = -0.25\n[[forbid]]\nfrom = 'a'\nto = 'a'"),
        ]);
        let (fewer, weights) = fewer.on_model((&model, &trained)).unwrap();
        for id in (0..fewer.transitions()).map(TransitionId::from_index) {
            let role = fewer.transition_role(id);
            let old =
                (0..model.transitions()).map(TransitionId::from_index).find(|&old| model.transition_role(old) == role);
            let rule = if matches!(role, TransitionRole::Pair { .. }) { -0.25 } else { 0.0 };
            assert!((weights.get(id) - trained.get(old.unwrap()) - rule).abs() < 1e-5, "{role:?}");
        }
        // The other way round, start a and a -> a are new.
        let (_, weights) = spec(&[]).on_model((&fewer, &fewer.initial_weights())).unwrap();
        assert!(weights.0.iter().zip(&model.initial_weights().0).all(|(a, b)| (a - b).abs() < 1e-5));
    }

    #[test]
    fn symbols_and_topologies_must_be_the_models() {
        let message = |changes: &[(&str, &str)]| {
            let other = spec(changes);
            other.on_model((&spec(&[]), &spec(&[]).initial_weights())).unwrap_err().to_string()
        };
        assert!(message(&[("\"b\"", "\"c\"")]).starts_with("graph.toml: symbol 2 is 'c', and 'b' in the model"));
        assert!(
            message(&[("\"b\"", "\"b\", \"c\"")]).starts_with("graph.toml: symbol 3 is 'c', and missing in the model")
        );
        assert!(
            message(&[("0.5", "0.6")])
                .contains("the topology of 'a' is states = 1, min_frames = 1, self_loop = 0.6, and")
        );
    }
}
