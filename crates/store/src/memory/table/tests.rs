//! The table against an ordered map, under every mix of inserting, removing, growing and shrinking.

use std::collections::BTreeMap;

use super::*;

fn key(high: u64, low: u64) -> KeyDigest {
    KeyDigest([high, low])
}

fn same(table: &Table, model: &BTreeMap<KeyDigest, u128>) {
    assert_eq!(table.len(), model.len());
    for (key, word) in model {
        let slot = table.find(*key).unwrap();
        assert_eq!(table.at(slot), Some((*key, *word)));
    }
    let walked: Vec<_> = (0..table.slots()).filter_map(|slot| table.at(slot)).collect();
    let expected: Vec<_> = model.iter().map(|(key, word)| (*key, *word)).collect();
    assert_eq!(walked, expected, "in the order of keys, each once");
}

/// A small generator: the same numbers in every run.
fn numbers(seed: u64) -> impl FnMut() -> u64 {
    let mut state = seed;
    move || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

#[test]
fn it_is_an_ordered_map() {
    for (seed, spread) in [(1, u64::MAX), (2, 1 << 60), (3, 16), (4, 1)] {
        let mut next = numbers(seed);
        let (mut table, mut model) = (Table::default(), BTreeMap::new());
        for round in 0..6_000_u32 {
            let key = key(u64::MAX - next() % spread, next() % 200 + 1);
            // Grows for a while, then thins out, and again.
            if next() % 10 < if round / 1_000 % 2 == 0 { 8 } else { 2 } {
                table.insert(key, round.into());
                model.insert(key, round.into());
            } else if let Some(at) = model.keys().find(|held| **held >= key).copied() {
                table.remove(table.find(at).unwrap());
                model.remove(&at);
                if let Some(homes) = table.wants_fewer_homes() {
                    table.rebuild(homes);
                }
            }
            assert_eq!(table.find(key).is_some(), model.contains_key(&key));
            if round % 97 == 0 {
                same(&table, &model);
            }
        }
        same(&table, &model);
    }
}

#[test]
fn keys_that_all_want_the_last_home_are_kept_behind_it() {
    let (mut table, mut model) = (Table::default(), BTreeMap::new());
    for low in 1..=300 {
        table.insert(key(u64::MAX, low), low.into());
        model.insert(key(u64::MAX, low), u128::from(low));
    }
    same(&table, &model);
}

#[test]
fn a_key_takes_at_most_46_bytes_once_there_are_many() {
    let mut next = numbers(5);
    let mut table = Table::default();
    for len in 1..=40_000 {
        table.insert(key(next(), next()), 0);
        if len > 2_000 {
            assert!(table.bytes() <= 46 * len, "{} bytes at {len}", table.bytes());
        }
    }
}

#[test]
fn an_empty_table_takes_nothing_and_answers() {
    let mut table = Table::default();
    assert_eq!(table.bytes(), 0);
    assert_eq!(table.find(key(1, 1)), None);
    table.remove(3);
    table.set(3, 1);
    assert_eq!(table.at(0), None);
}
