//! lexicon
