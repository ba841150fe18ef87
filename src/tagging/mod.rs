//! Tags for text.
