//! Large buffers that a thread uses again: fresh memory comes from the system page by page, each cleared first, which took an
//! eighth of the time of a network's forward.

use std::cell::RefCell;
use std::ops::{Deref, DerefMut};

/// Values that go back to their thread's store when they are dropped.
#[derive(Debug, Clone, Default)]
pub(super) struct Buffer(Vec<f32>);

/// Most values that a thread keeps for later: 256 MB.
const MOST_KEPT: usize = 64 << 20;
/// Smaller buffers are not worth keeping.
const LEAST: usize = 16 << 10;

#[derive(Default)]
struct Store {
    free: Vec<Vec<f32>>,
    kept: usize,
}

thread_local! {
    static STORE: RefCell<Store> = RefCell::default();
}

impl Store {
    /// The smallest buffer that can hold so many values without wasting as much again.
    fn take(&mut self, count: usize) -> Option<Vec<f32>> {
        let fits = |buffer: &Vec<f32>| (count..=2 * count).contains(&buffer.capacity());
        let fitting = self.free.iter().enumerate().filter(|(_, buffer)| fits(buffer));
        let (place, _) = fitting.min_by_key(|(_, buffer)| buffer.capacity())?;
        let buffer = self.free.swap_remove(place);
        self.kept -= buffer.capacity();
        Some(buffer)
    }

    fn give(&mut self, buffer: Vec<f32>) {
        if buffer.capacity() >= LEAST && self.kept + buffer.capacity() <= MOST_KEPT {
            self.kept += buffer.capacity();
            self.free.push(buffer);
        }
    }
}

impl Buffer {
    /// So many values, whatever they are.
    pub(super) fn any(count: usize) -> Self {
        let kept = if count < LEAST { None } else { STORE.with_borrow_mut(|store| store.take(count)) };
        let Some(mut buffer) = kept else { return Self(vec![0.0; count]) };
        buffer.resize(count, 0.0);
        Self(buffer)
    }

    /// So many zeros.
    pub(super) fn zeros(count: usize) -> Self {
        let mut buffer = Self::any(count);
        buffer.fill(0.0);
        buffer
    }

    /// The values, which do not go back.
    pub(super) fn into_vec(mut self) -> Vec<f32> {
        std::mem::take(&mut self.0)
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        let buffer = std::mem::take(&mut self.0);
        // A thread that is ending may have no store any more.
        let _ = STORE.try_with(|store| store.borrow_mut().give(buffer));
    }
}

impl From<Vec<f32>> for Buffer {
    fn from(values: Vec<f32>) -> Self {
        Self(values)
    }
}

impl Deref for Buffer {
    type Target = [f32];

    fn deref(&self) -> &[f32] {
        &self.0
    }
}

impl DerefMut for Buffer {
    fn deref_mut(&mut self) -> &mut [f32] {
        &mut self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dropped_buffer_comes_again_where_it_fits() {
        let place = |buffer: &Buffer| buffer.as_ptr();
        let first = Buffer::from(vec![1.0; 2 * LEAST]);
        let old = place(&first);
        drop(first);
        let again = Buffer::any(2 * LEAST - 5);
        assert_eq!((place(&again), again.len()), (old, 2 * LEAST - 5));
        drop(again);
        assert!(Buffer::zeros(2 * LEAST).iter().all(|&value| value == 0.0));
        assert_ne!(place(&Buffer::any(LEAST - 1)), old, "far too large a buffer is left for others");
        assert_eq!(Buffer::from(vec![3.0; LEAST]).into_vec(), vec![3.0; LEAST]);
    }

    #[test]
    fn a_store_keeps_no_more_than_it_may() {
        let mut store = Store::default();
        store.give(vec![0.0; LEAST - 1]);
        store.give(Vec::with_capacity(MOST_KEPT));
        store.give(vec![0.0; LEAST]);
        assert_eq!((store.free.len(), store.kept), (1, MOST_KEPT));
        assert!(store.take(MOST_KEPT / 2 - 1).is_none());
        assert!(store.take(MOST_KEPT).is_some() && store.kept == 0);
    }
}
