//! features
