//! The book against its promises: once each, bounded, and no longer than worth it.

use std::time::{Duration, Instant};

use super::{Book, ROOM, ReceiptId};

const HOUR: Duration = Duration::from_hours(1);

/// A receipt of nothing: the book does not look inside.
fn receipt() -> tidegate::Receipt {
    tidegate::Receipt::default()
}

fn id(number: usize) -> ReceiptId {
    ReceiptId(u128::try_from(number).unwrap())
}

#[test]
fn a_receipt_is_handed_out_once() {
    let (book, now) = (Book::default(), Instant::now());
    book.keep(id(7), receipt(), HOUR, now);
    assert!(book.take(id(8), now).is_none(), "another receipt's id must not take it");
    assert!(book.take(id(7), now).is_some());
    assert!(book.take(id(7), now).is_none());
}

#[test]
fn the_oldest_make_room_for_the_newest() {
    let (book, now) = (Book::default(), Instant::now());
    for number in 0..=ROOM {
        book.keep(id(number), receipt(), HOUR, now);
    }
    let pages = book.0.lock();
    assert_eq!((pages.kept.len(), pages.order.len()), (ROOM, ROOM));
    drop(pages);
    assert!(book.take(id(0), now).is_none());
    assert!(book.take(id(1), now).is_some());
    assert!(book.take(id(ROOM), now).is_some());
}

#[test]
fn refunded_receipts_leave_no_growing_trace() {
    let (book, now) = (Book::default(), Instant::now());
    // One that stays at the front must not let the used ones behind it pile up without bound.
    book.keep(id(0), receipt(), HOUR, now);
    for number in 1..=2 * ROOM {
        book.keep(id(number), receipt(), HOUR, now);
        assert!(book.take(id(number), now).is_some());
    }
    let pages = book.0.lock();
    assert!(pages.kept.is_empty());
    assert!(pages.order.len() <= ROOM);
}

#[test]
fn a_receipt_ends_with_its_worth() {
    let (book, now) = (Book::default(), Instant::now());
    book.keep(id(1), receipt(), HOUR, now);
    book.keep(id(2), receipt(), HOUR, now);
    assert!(book.take(id(1), now + Duration::from_secs(3_599)).is_some());
    assert!(book.take(id(2), now + HOUR).is_none());
}

#[test]
fn receipts_past_their_worth_are_dropped_when_a_new_one_comes() {
    let (book, now) = (Book::default(), Instant::now());
    for number in 0..100 {
        book.keep(id(number), receipt(), HOUR, now);
    }
    book.keep(id(100), receipt(), HOUR, now + HOUR);
    assert_eq!(book.0.lock().kept.len(), 1);
}

#[test]
fn an_id_is_read_in_one_spelling() {
    let drawn = ReceiptId::draw().unwrap();
    assert_eq!(ReceiptId::read(&drawn.to_text()), Some(drawn));
    assert_eq!(id(10).to_text(), "0000000000000000000000000000000a");
    let long = "0".repeat(33);
    let faulty = [
        "",
        "a",
        "0000000000000000000000000000000A",
        "+000000000000000000000000000000a",
        "0000000000000000000000000000000g",
        "000000000000000000000000000000é",
        long.as_str(),
    ];
    for text in faulty {
        assert_eq!(ReceiptId::read(text), None, "{text:?}");
    }
}
