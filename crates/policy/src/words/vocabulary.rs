//! The closed lists: nouns that are counted, words for what failed, and words that add nothing.

use super::phrase::stem;

/// What a request is called. "Requests" may be left out, and one stands for another: they count the same.
pub(super) const NOUNS: &str = "\
    action answer attempt build call check click code comment connection download email event export guess \
    hit import invitation job login logon lookup mail message notification one operation order password \
    payment payout pin post push query read refund report req request reset retry search sign_in sms \
    submission sync text time transaction transfer try update upload verification visit vote webhook write";

/// Says that what follows failed.
const FAILED: &str = "\
    bad declined failed failing incorrect invalid rejected unsuccessful wrong";

/// Something that failed, or failing.
const FAILURES: &str = "\
    error fail failure miss mistake";

/// Words that add nothing to a limit.
pub(super) const FILLERS: [&str; 6] = [
    // Articles, prepositions and conjunctions.
    "a an the and of for on in to by with from at per each every any after where that which it its this same \
     such so hence thus therefore as you we us they who please only just also then together",
    // To be, to have, to be able.
    "is are be can may will has have had do does gets get got",
    // To limit.
    "limit limits limited cap caps capped hard max maximum held throttled restricted allowed allows allow \
     permitted granted accepted admitted let through counted counts count rate happen key fine",
    // What one does.
    "ask asks charged consume consumes earn earns fire leave leaves make makes made receive receives \
     report send sends sent spend spends spent start starts started take takes texted try tries use uses \
     used called pass passes submit submits",
    // How a bucket refills.
    "refill refills refilled refilling sustained steady settle settles back further",
    // How a queue is kept.
    "room place places line combination pair",
];

/// Phrases that add nothing: a maximum is what every limit is.
pub(super) const FILLER_PHRASES: &[&str] = &[
    "up to",
    "at most",
    "no more than",
    "not more than",
    "as many as",
    "or fewer",
    "or less",
    "max of",
    "maximum of",
    "a maximum of",
    "a total of",
    "not exceeding",
    "held back",
    "it must",
    "must be",
];

/// Signs that add nothing.
pub(super) const SIGNS: &[char] =
    &[',', '.', ';', ':', '(', ')', '&', '+', '=', '/', '\u{2013}', '\u{2014}', '\u{2192}', '\u{d7}', '!'];

/// Words that make a limit of something that nobody can tell.
const VAGUE: &str = "\
    about approximately around circa couple few generally handful many nearly normally reasonable roughly \
    several some typically usual usually";

/// Words that begin an exception or a condition.
const CONDITIONS: &str = "\
    between but depending during except excluding if or outside unless until when whenever while without";

fn is_in(list: &str, word: &str) -> bool {
    list.split_ascii_whitespace().any(|one| one == word)
}

/// Returns whether a word adds nothing: one of the fillers, or what a request is called.
pub(super) fn is_filler(word: &str) -> bool {
    FILLERS.iter().any(|list| is_in(list, word))
        || is_noun(&stem(word)) && !matches!(word, "one" | "ones" | "time" | "times")
}

/// Returns whether a word, in the form in which words are compared, is what a request is called.
pub(super) fn is_noun(stem: &str) -> bool {
    is_in(NOUNS, stem)
}

/// Returns whether a word says that what it stands with failed.
pub(super) fn is_failed(word: &str) -> bool {
    is_in(FAILED, word)
}

/// Returns whether a word, in the form in which words are compared, is a failure.
pub(super) fn is_failure(stem: &str) -> bool {
    is_in(FAILURES, stem)
}

/// Says why a word keeps a sentence from being read.
pub(super) fn why_unread(word: &str) -> String {
    if is_in(VAGUE, word) {
        return format!("\"{word}\" is vague, and a limit is a number");
    }
    if is_in(CONDITIONS, word) {
        return format!(
            "\"{word}\" begins what no limit carries out: say it in `note`, or as a rule of its own"
        );
    }
    match word {
        "no" | "not" | "never" | "none" | "cannot" => format!("it cannot be told what \"{word}\" denies"),
        "everyone" | "everybody" => {
            format!("\"{word}\" may be each of them, or all: write \"for everyone together\" for all")
        }
        "biweekly" | "bimonthly" => format!("\"{word}\" is twice in one, or one in two"),
        "M" => "\"M\" is a minute, a month or a million".to_owned(),
        _ => format!("\"{word}\" is not a word that limits are read from"),
    }
}
