//! The nearest known word to one that is not known.

/// The longest word that is compared; longer ones are no slips of known words.
const MAX_LEN: usize = 32;

/// Returns the candidate that is the fewest slips away, if those are few enough for its length.
pub(crate) fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word = word.to_lowercase();
    let scored =
        candidates.into_iter().map(|candidate| (distance(&word, &candidate.to_lowercase()), candidate));
    let (slips, best) = scored.min_by_key(|(slips, _)| *slips)?;
    let allowed = if best.len() <= 3 { 1 } else { best.len().div_ceil(4).min(3) };
    (slips <= allowed).then_some(best)
}

/// Counts slips: a letter too many, too few, another, or two swapped; hyphens and underscores are the same.
fn distance(a: &str, b: &str) -> usize {
    let letters = |word: &str| -> Vec<char> {
        word.chars().map(|letter| if letter == '-' || letter == ' ' { '_' } else { letter }).collect()
    };
    let (a, b) = (letters(a), letters(b));
    if a.len() > MAX_LEN || b.len() > MAX_LEN {
        return usize::MAX;
    }
    let mut before: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=b.len()).collect();
    for (i, left) in a.iter().enumerate() {
        let mut row = vec![i.saturating_add(1)];
        for (j, right) in b.iter().enumerate() {
            let at = |row: &[usize], index: usize| row.get(index).copied().unwrap_or(usize::MAX);
            let change = at(&above, j).saturating_add(usize::from(left != right));
            let grow = at(&above, j.saturating_add(1)).min(at(&row, j)).saturating_add(1);
            let mut best = change.min(grow);
            let swapped = i > 0
                && j > 0
                && a.get(i.wrapping_sub(1)) == Some(right)
                && b.get(j.wrapping_sub(1)) == Some(left);
            if swapped {
                best = best.min(at(&before, j.saturating_sub(1)).saturating_add(1));
            }
            row.push(best);
        }
        before = std::mem::replace(&mut above, row);
    }
    above.last().copied().unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::nearest;

    /// Guards against suggestions that are no help: far words, or none for a plain slip.
    #[test]
    fn a_slip_is_seen_and_a_far_word_is_not() {
        let known = ["limit", "window", "token_bucket", "key"];
        for (word, best) in [
            ("limmit", Some("limit")),
            ("lmiit", Some("limit")),
            ("Window", Some("window")),
            ("token-bucket", Some("token_bucket")),
            ("kye", Some("key")),
            ("colour", None),
            ("", None),
        ] {
            assert_eq!(nearest(word, known), best, "{word}");
        }
    }
}
