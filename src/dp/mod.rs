//! dp
