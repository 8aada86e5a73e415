//! One call of the core.

use super::algorithm::election::ElectionAlgorithm;
use super::context::Context;

/// One call of the core, with the algorithm at hand.
pub(super) struct Turn<'a> {
    pub cx: Context<'a>,
    pub algorithm: &'a mut dyn ElectionAlgorithm,
}
