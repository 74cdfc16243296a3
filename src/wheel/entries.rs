//! The entries of a wheel, in pages of a slab, and the links between them.
//!
//! Entries are named by their index, an [`EntryId`], and linked by it: there is nothing to
//! allocate or to free when one moves from bucket to bucket. A page never grows beyond
//! [`PAGE`] entries, so that no insertion copies more than one page; the pages with room stand on
//! a stack.

#![forbid(unsafe_code)]

use core::ops::{Index, IndexMut};

use slab::Slab;

use crate::tick::Tick;
use crate::wheel::bucket::BucketId;

/// The name of an entry while it is in the wheel; afterwards it may name another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct EntryId(u32);

/// One timer: its exact deadline, its place and what it carries.
#[derive(Debug)]
pub(super) struct Entry<P> {
    pub(super) deadline: Tick,
    pub(super) prev: EntryId,
    pub(super) next: EntryId,
    /// Where it is. Its niche is where the slab keeps "vacant".
    pub(super) bucket: BucketId,
    pub(super) payload: P,
}

/// All entries of one wheel.
#[derive(Debug)]
pub(super) struct Entries<P> {
    pages: Vec<Slab<Entry<P>>>,
    /// The pages that have fewer than [`PAGE`] entries; the last is filled first.
    open: Vec<u32>,
    len: usize,
}

const PAGE_BITS: u32 = 12;
/// Entries per page: 96 KiB of the driver's, about 10 µs to copy.
const PAGE: usize = 1 << PAGE_BITS;
/// The number of pages that ids can tell apart, less the one of [`EntryId::NONE`].
const MAX_PAGES: u32 = (1 << (u32::BITS - PAGE_BITS)) - 1;

impl EntryId {
    /// The end of a list.
    pub(super) const NONE: Self = Self(u32::MAX);

    #[inline]
    pub(super) fn is_none(self) -> bool {
        self == Self::NONE
    }

    /// This id unless it is [`NONE`](Self::NONE).
    #[inline]
    pub(super) fn some(self) -> Option<Self> {
        (!self.is_none()).then_some(self)
    }

    /// The id with this number, which [`index`](Self::index) gave out.
    pub(crate) const fn from_index(index: u32) -> Self {
        Self(index)
    }

    /// The number behind the id, for those who store it beside other numbers.
    pub(crate) const fn index(self) -> u32 {
        self.0
    }

    #[inline]
    #[allow(
        clippy::cast_possible_truncation,
        reason = "a page has 2^12 entries and there are less than 2^20 pages"
    )]
    fn new(page: u32, offset: usize) -> Self {
        Self(page << PAGE_BITS | offset as u32)
    }

    #[inline]
    fn page(self) -> usize {
        (self.0 >> PAGE_BITS) as usize
    }

    #[inline]
    fn offset(self) -> usize {
        self.0 as usize & (PAGE - 1)
    }
}

impl<P> Entries<P> {
    pub(super) const fn new() -> Self {
        Self {
            pages: Vec::new(),
            open: Vec::new(),
            len: 0,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn capacity(&self) -> usize {
        self.pages.iter().map(Slab::capacity).sum()
    }

    #[inline]
    pub(super) fn insert(&mut self, entry: Entry<P>) -> EntryId {
        let page = match self.open.last() {
            Some(&page) => page,
            None => self.add_page(),
        };
        let slab = &mut self.pages[page as usize];
        let offset = slab.insert(entry);
        if slab.len() == PAGE {
            self.open.pop();
        }
        self.len += 1;
        EntryId::new(page, offset)
    }

    #[inline]
    pub(super) fn remove(&mut self, id: EntryId) -> Entry<P> {
        let slab = &mut self.pages[id.page()];
        let entry = slab.remove(id.offset());
        if slab.len() == PAGE - 1 {
            self.open.push(id.0 >> PAGE_BITS);
        }
        self.len -= 1;
        entry
    }

    #[inline]
    pub(super) fn get(&self, id: EntryId) -> Option<&Entry<P>> {
        self.pages.get(id.page())?.get(id.offset())
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (EntryId, &Entry<P>)> {
        (0_u32..).zip(&self.pages).flat_map(|(page, slab)| {
            slab.iter()
                .map(move |(offset, entry)| (EntryId::new(page, offset), entry))
        })
    }

    /// The first entry whose id is `from` or greater.
    pub(super) fn first_from(&self, from: EntryId) -> Option<EntryId> {
        let mut offset = from.offset();
        let pages = (0_u32..).zip(&self.pages).skip(from.page());
        for (page, slab) in pages {
            let mut offsets = offset..slab.capacity();
            if let Some(found) = offsets.find(|&offset| slab.contains(offset)) {
                return Some(EntryId::new(page, found));
            }
            offset = 0;
        }
        None
    }

    /// Makes room for `additional` more without further allocation.
    pub(super) fn reserve(&mut self, additional: usize) {
        let mut missing = additional;
        for &page in &self.open {
            let slab = &mut self.pages[page as usize];
            let room = (PAGE - slab.len()).min(missing);
            slab.reserve_exact(room);
            missing -= room;
        }
        while missing > 0 {
            let page = self.add_page();
            let room = PAGE.min(missing);
            self.pages[page as usize].reserve_exact(room);
            missing -= room;
        }
    }

    /// Gives back what can be given back without moving an entry.
    pub(super) fn shrink_to_fit(&mut self) {
        for slab in &mut self.pages {
            slab.shrink_to_fit();
        }
    }

    /// Moves all entries to the lowest ids, in the order of their ids, and tells each move. The
    /// links inside the entries are mapped along; those that point in from outside are not.
    pub(super) fn compact(&mut self, mut moved: impl FnMut(EntryId, EntryId, &Entry<P>)) {
        let mut ids = vec![EntryId::NONE; self.pages.len() * PAGE];
        let old = core::mem::replace(self, Self::new());
        self.reserve(old.len);
        for (page, slab) in (0_u32..).zip(old.pages) {
            for (offset, entry) in slab {
                let from = EntryId::new(page, offset);
                ids[from.0 as usize] = self.insert(entry);
            }
        }
        let map = |id: EntryId| id.some().map_or(EntryId::NONE, |id| ids[id.0 as usize]);
        for slab in &mut self.pages {
            for (_, entry) in slab {
                entry.prev = map(entry.prev);
                entry.next = map(entry.next);
            }
        }
        for (from, &to) in (0_u32..).zip(&ids) {
            if !to.is_none() {
                moved(EntryId(from), to, &self[to]);
            }
        }
    }

    /// Drops all entries and keeps the room. If a payload panics in its drop, the room goes too.
    pub(super) fn clear(&mut self) {
        let mut old = core::mem::replace(self, Self::new());
        for slab in &mut old.pages {
            slab.drain().for_each(drop);
        }
        old.len = 0;
        old.open.clear();
        old.open
            .extend((0_u32..).zip(&old.pages).map(|(page, _)| page));
        *self = old;
    }

    #[cold]
    fn add_page(&mut self) -> u32 {
        let page = u32::try_from(self.pages.len()).unwrap_or(MAX_PAGES);
        assert!(
            page < MAX_PAGES,
            "a wheel holds less than 2^32 - 2^12 entries"
        );
        // The first page grows by doubling, for the sake of the many wheels that stay small.
        self.pages.push(if page == 0 {
            Slab::new()
        } else {
            Slab::with_capacity(PAGE)
        });
        self.open.push(page);
        page
    }
}

impl<P> Index<EntryId> for Entries<P> {
    type Output = Entry<P>;

    #[inline]
    fn index(&self, id: EntryId) -> &Entry<P> {
        &self.pages[id.page()][id.offset()]
    }
}

impl<P> IndexMut<EntryId> for Entries<P> {
    #[inline]
    fn index_mut(&mut self, id: EntryId) -> &mut Entry<P> {
        &mut self.pages[id.page()][id.offset()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(payload: u32) -> Entry<u32> {
        Entry {
            deadline: Tick::ZERO,
            prev: EntryId::NONE,
            next: EntryId::NONE,
            bucket: BucketId::DUE,
            payload,
        }
    }

    #[test]
    fn an_entry_of_the_driver_takes_24_bytes_and_the_slab_adds_none() {
        assert_eq!(size_of::<Entry<u32>>(), 24);
        // What the slab stores: one of these, or the index of the next vacant one.
        enum Stored {
            _Vacant(usize),
            _Occupied(Entry<u32>),
        }
        assert_eq!(size_of::<Stored>(), 24);
    }

    #[test]
    fn ids_stay_distinct_over_pages_and_vacancies_are_used_again() {
        let mut entries = Entries::new();
        let count = 3 * u32::try_from(PAGE).unwrap() + 5;
        let ids: Vec<_> = (0..count).map(|n| entries.insert(entry(n))).collect();
        let capacity = entries.capacity();
        for (n, &id) in (0..count).zip(&ids) {
            assert_eq!(entries[id].payload, n);
        }
        for &id in ids.iter().step_by(2) {
            entries.remove(id);
        }
        for n in 0..count.div_ceil(2) {
            entries.insert(entry(n));
        }
        assert_eq!(entries.len(), ids.len());
        assert_eq!(entries.iter().count(), ids.len());
        assert_eq!(entries.capacity(), capacity);
    }

    #[test]
    fn reserved_room_is_used_before_any_new_page() {
        let mut entries = Entries::new();
        entries.insert(entry(0));
        entries.reserve(2 * PAGE);
        let capacity = entries.capacity();
        assert!(capacity > 2 * PAGE);
        for n in 0..2 * PAGE {
            entries.insert(entry(u32::try_from(n).unwrap()));
        }
        assert_eq!(entries.capacity(), capacity);
    }
}
