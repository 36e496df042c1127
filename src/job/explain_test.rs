//! Every code and detail has a page, and no page is for nothing.

use super::*;
use std::collections::HashSet;

#[test]
fn every_code_and_every_detail_has_exactly_one_page() {
    let mut seen = HashSet::new();
    for word in words() {
        assert!(seen.insert(word), "{word} has two pages");
    }
    for code in Code::ALL {
        assert!(seen.contains(code.as_str()), "{code} has no page");
    }
    for detail in DETAILS {
        assert!(seen.contains(detail), "{detail} has no page");
    }
    let known = |word: &&str| {
        Code::parse(word).is_some() || DETAILS.contains(word) || health::PAGES.iter().any(|p| p.word == *word)
    };
    assert_eq!(
        seen.iter().filter(|word| !known(word)).count(),
        0,
        "a page for a word that nothing says"
    );
}

#[test]
fn every_page_says_cause_effect_and_what_to_do_in_sentences() {
    for page in CHAPTERS.iter().flat_map(|chapter| chapter.iter()) {
        for text in [page.cause, page.effect, page.remedy] {
            assert!(text.ends_with('.') && text.len() > 7, "{}: {text}", page.word);
            assert!(
                text.starts_with(|c: char| c.is_uppercase() || c == '`'),
                "{}: {text}",
                page.word
            );
            assert!(!text.contains("  "), "{}: {text}", page.word);
        }
    }
}

#[test]
fn an_unknown_outcome_is_checked_first_and_never_tried_again() {
    for word in [
        "outcome_unknown",
        "not_started",
        "no_answer",
        "unreadable",
        "other_bytes",
        "still_there",
        "absent",
    ] {
        let text = page(word).unwrap();
        assert!(text.contains("Check first"), "{word}");
        for wrong in [
            "try again",
            "Try again",
            "retry",
            "Retry",
            "send it again",
            "once more",
        ] {
            assert!(!text.contains(wrong), "{word} says {wrong}");
        }
    }
    assert!(page("OUTCOME_UNKNOWN").unwrap().contains("Check first"));
}

#[test]
fn pages_are_found_by_detail_with_field_by_state_and_in_any_case() {
    assert_eq!(page("approval_mismatch:object_id"), page("approval_mismatch"));
    assert_eq!(page(" SAVED "), page("saved"));
    for state in State::ALL {
        assert!(page(state.as_str()).unwrap().contains(state.as_str()) || state == State::OutcomeUnknown);
    }
    assert!(page("created").unwrap().starts_with("CREATED"));
    assert_eq!(page("no_such_word"), None);
    assert_eq!(page(""), None);
}

#[test]
fn a_receipt_sentence_prefers_the_detail() {
    assert_eq!(
        sentence(Code::Saved, None),
        "The vault holds the new bytes; they were read back."
    );
    assert!(sentence(Code::DeleteDenied, Some("approval_mismatch:nonce")).contains("differ"));
    assert!(sentence(Code::DeleteDenied, Some("word without page")).contains("no approval that counts"));
    for code in Code::ALL {
        assert_ne!(sentence(*code, None), "no page for this code");
    }
}
