//! Where a panic says that it came from.

#![allow(clippy::unwrap_used, reason = "helpers of tests may fail the test")]

use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Once;

thread_local! {
    static PLACE: RefCell<Option<(String, String)>> = const { RefCell::new(None) };
    /// Whether a panic is waited for: those of failed tests go to the usual hook.
    static EXPECTED: Cell<bool> = const { Cell::new(false) };
}

/// Runs `call`, which must panic, and returns the file it points at and its text.
pub(crate) fn panic_of(call: impl FnOnce()) -> (String, String) {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let usual = take_hook();
        set_hook(Box::new(move |info| {
            if !EXPECTED.get() {
                return usual(info);
            }
            let file = info.location().map_or("", |location| location.file());
            let payload = info.payload();
            let text = payload.downcast_ref::<&str>().copied();
            let text = text.or_else(|| payload.downcast_ref().map(String::as_str));
            PLACE.set(Some((file.to_owned(), text.unwrap_or("").to_owned())));
        }));
    });
    EXPECTED.set(true);
    let outcome = catch_unwind(AssertUnwindSafe(call));
    EXPECTED.set(false);
    assert!(outcome.is_err(), "the call did not panic");
    PLACE.take().unwrap()
}
