//! A store that does not answer: each limit's own choice.

use std::sync::Arc;

use tidegate::{Limit, Limiter, OnStoreFailure, Options, Quota, Rate, Ruling, Span};
use tidegate_store::faulty::Faulty;

fn limit(name: &str, choice: OnStoreFailure) -> Limit {
    let quota = Quota::token_bucket(5, Rate::new(1, Span::from_secs(1)).unwrap()).unwrap();
    Limit::new(name.to_owned(), quota).on_store_failure(choice)
}
