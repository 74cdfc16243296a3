//! `FutureExt`, through the public API.

#![allow(
    clippy::disallowed_methods,
    reason = "tests compare with Tokio's clock"
)]

#[path = "common/place.rs"]
mod place;

use std::future::{IntoFuture, Ready, pending, ready};

use cogwheel::FutureExt as _;
use cogwheel::error::TimerError;
use cogwheel::time::{Duration, Instant, sleep};
use futures::FutureExt as _;
use place::panic_of;
use tokio::time::advance;

const fn ms(count: u64) -> Duration {
    Duration::from_millis(count)
}

#[tokio::test(start_paused = true)]
async fn each_method_elapses_when_its_free_function_does() {
    let start = Instant::now();
    let eager = pending::<()>().timeout(ms(10));
    let fixed = pending::<()>().timeout_at(start + ms(20));
    let lazy = pending::<()>().lazy_timeout(ms(30));
    advance(ms(5)).await;
    eager.await.unwrap_err();
    assert_eq!(start.elapsed(), ms(10));
    fixed.await.unwrap_err();
    assert_eq!(start.elapsed(), ms(20));
    lazy.await.unwrap_err();
    assert_eq!(start.elapsed(), ms(50));
}

#[tokio::test(start_paused = true)]
async fn each_method_lets_a_value_through() {
    assert_eq!(ready(1).timeout(Duration::ZERO).await, Ok(1));
    assert_eq!(ready(2).timeout_at(Instant::now()).await, Ok(2));
    assert_eq!(ready(3).lazy_timeout(Duration::MAX).await, Ok(3));
}

#[tokio::test(start_paused = true)]
async fn it_stands_beside_the_trait_of_futures_in_one_chain() {
    let answer = sleep(ms(10)).map(|()| 7).timeout(ms(20)).map(Result::ok);
    assert_eq!(answer.await, Some(7));
    let late = sleep(ms(10)).map(|()| 7).boxed().timeout(ms(5)).fuse();
    assert!(late.await.is_err());
}

#[tokio::test(start_paused = true)]
async fn beside_the_trait_of_tokio_util_a_call_names_the_one_it_means() {
    use tokio_util::future::FutureExt as Theirs;

    let ours = cogwheel::FutureExt::timeout(pending::<()>(), ms(10)).await;
    let theirs = Theirs::timeout(pending::<()>(), ms(10)).await;
    assert_eq!(
        ours.unwrap_err().to_string(),
        theirs.unwrap_err().to_string()
    );
    // What only one of them has needs no name.
    assert_eq!(ready(7).lazy_timeout(ms(10)).await, Ok(7));
}

#[tokio::test(start_paused = true)]
async fn what_only_becomes_a_future_has_the_methods_too() {
    struct Request(u8);
    impl IntoFuture for Request {
        type Output = u8;
        type IntoFuture = Ready<u8>;
        fn into_future(self) -> Self::IntoFuture {
            ready(self.0)
        }
    }
    assert_eq!(Request(7).timeout(ms(1)).await, Ok(7));
    assert_eq!(Request(8).lazy_timeout(ms(1)).await, Ok(8));
}

#[tokio::test(start_paused = true)]
async fn a_borrowed_future_goes_on_after_its_timeout() {
    let mut long = sleep(ms(30));
    assert!((&mut long).timeout(ms(10)).await.is_err());
    assert_eq!((&mut long).timeout(ms(20)).await, Ok(()));
}

#[test]
fn outside_of_a_runtime_the_call_panics_in_the_callers_file() {
    let expected = (file!().to_owned(), TimerError::NoRuntime.to_string());
    assert_eq!(panic_of(|| drop(ready(()).timeout(ms(1)))), expected);
    let now = Instant::now();
    assert_eq!(panic_of(|| drop(ready(()).timeout_at(now))), expected);
}

#[test]
fn outside_of_a_runtime_a_lazy_timeout_of_a_ready_future_works() {
    let answer = ready(7).lazy_timeout(ms(1)).now_or_never();
    assert_eq!(answer, Some(Ok(7)));
}
