//! The book against its promises: once each, bounded, and no longer than worth it.

use std::time::{Duration, Instant};

use super::{Book, ROOM, ReceiptId, random};

const HOUR: Duration = Duration::from_hours(1);

/// A receipt of nothing: the book does not look inside.
fn receipt() -> tidegate::Receipt {
    tidegate::Receipt::default()
}

fn keep(book: &Book, now: Instant) -> ReceiptId {
    book.keep(receipt(), HOUR, now).unwrap()
}

#[test]
fn a_receipt_is_handed_out_once() {
    let (book, now) = (Book::default(), Instant::now());
    let id = keep(&book, now);
    let anothers = [ReceiptId(id.0 ^ 1), ReceiptId(id.0 ^ (1 << 127)), ReceiptId(id.0.wrapping_add(1 << 16))];
    for another in anothers {
        assert!(book.take(another, now).is_none(), "another receipt's id must not take it");
    }
    assert!(book.take(id, now).is_some());
    assert!(book.take(id, now).is_none());
}

#[test]
fn the_oldest_make_room_for_the_newest() {
    let (book, now) = (Book::default(), Instant::now());
    let ids: Vec<_> = (0..=ROOM).map(|_| keep(&book, now)).collect();
    assert_eq!(book.0.lock().kept.len(), ROOM);
    assert!(book.take(ids[0], now).is_none());
    assert!(book.take(ids[1], now).is_some());
    assert!(book.take(ids[ROOM], now).is_some());
}

/// Guards against ids that lead to another's place once places have been used again.
#[test]
fn every_receipt_is_found_however_many_have_gone() {
    let (book, now) = (Book::default(), Instant::now());
    for _ in 0..2 * ROOM + 7 {
        keep(&book, now);
    }
    let ids: Vec<_> = (0..ROOM).map(|_| keep(&book, now)).collect();
    assert!(ids.into_iter().all(|id| book.take(id, now).is_some()));
}

#[test]
fn refunded_receipts_leave_no_growing_trace() {
    let (book, now) = (Book::default(), Instant::now());
    // One that stays at the front must not let the used ones behind it pile up without bound.
    keep(&book, now);
    for _ in 1..=2 * ROOM {
        let id = keep(&book, now);
        assert!(book.take(id, now).is_some());
    }
    let pages = book.0.lock();
    assert!(pages.kept.iter().all(Option::is_none));
    assert!(pages.kept.len() <= ROOM);
}

#[test]
fn a_receipt_ends_with_its_worth() {
    let (book, now) = (Book::default(), Instant::now());
    let (one, other) = (keep(&book, now), keep(&book, now));
    assert!(book.take(one, now + Duration::from_secs(3_599)).is_some());
    assert!(book.take(other, now + HOUR).is_none());
}

#[test]
fn receipts_past_their_worth_are_dropped_when_a_new_one_comes() {
    let (book, now) = (Book::default(), Instant::now());
    for _ in 0..100 {
        keep(&book, now);
    }
    keep(&book, now + HOUR);
    assert_eq!(book.0.lock().kept.len(), 1);
}

/// Guards against randomness that is handed out twice.
#[test]
fn no_two_ids_share_their_random_part() {
    let drawn: std::collections::HashSet<_> =
        (0..1_000).map(|_| ReceiptId::of(0, random().unwrap()).0 >> 16).collect();
    assert_eq!(drawn.len(), 1_000);
}

#[test]
fn an_id_is_read_in_one_spelling() {
    let drawn = ReceiptId::of(7, random().unwrap());
    assert_eq!(ReceiptId::read(&drawn.to_text()), Some(drawn));
    assert_eq!(ReceiptId(10).to_text(), "0000000000000000000000000000000a");
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
