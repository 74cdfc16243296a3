//! Which timers this thread is turning.
//!
//! A turn runs wakers, and a waker may ask for a turn of the same timer: it makes a timer while the
//! driver is late, or arms the earliest. Were that turn run inside of the waker, it would run the
//! next wakers inside of this one, and so on, one level for every batch that is due. So it is only
//! noted, and the turn that runs the waker goes on afterwards.

#![forbid(unsafe_code)]

use core::cell::RefCell;

thread_local! {
    /// The innermost last. There are few, as a waker seldom turns another timer.
    static MARKS: RefCell<Vec<Mark>> = const { RefCell::new(Vec::new()) };
}

/// One turn under way.
struct Mark {
    /// The index of the driver.
    driver: u32,
    /// Whether a turn was asked for inside of it.
    noted: bool,
}

/// A turn of this thread, from its beginning to its end.
#[derive(Debug)]
pub(super) struct Inside {
    driver: u32,
}

/// Begins a turn; `None`, and a note for the outer turn, if this thread is inside of one already.
///
/// A thread whose locals are gone keeps no mark: it may nest.
pub(super) fn enter(driver: u32) -> Option<Inside> {
    let entered = with_marks(|marks| {
        if let Some(mark) = find(marks, driver) {
            mark.noted = true;
            return false;
        }
        marks.push(Mark {
            driver,
            noted: false,
        });
        true
    });
    // Not before it is known: the drop of an `Inside` ends the turn.
    entered.unwrap_or(true).then(|| Inside { driver })
}

/// Whether this thread is inside of a turn of `driver`.
pub(super) fn is_inside(driver: u32) -> bool {
    with_marks(|marks| find(marks, driver).is_some()).unwrap_or(false)
}

impl Inside {
    /// Takes the note that was left since the last call.
    pub(super) fn take_note(&self) -> bool {
        let taken = with_marks(|marks| {
            find(marks, self.driver).is_some_and(|mark| core::mem::take(&mut mark.noted))
        });
        taken.unwrap_or(false)
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        with_marks(|marks| marks.retain(|mark| mark.driver != self.driver));
    }
}

fn find(marks: &mut [Mark], driver: u32) -> Option<&mut Mark> {
    marks.iter_mut().find(|mark| mark.driver == driver)
}

/// `f` runs no foreign code, so the marks are never borrowed twice.
fn with_marks<R>(f: impl FnOnce(&mut Vec<Mark>) -> R) -> Option<R> {
    MARKS.try_with(|marks| f(&mut marks.borrow_mut())).ok()
}
