//! Integration tests, one binary.

mod features;
