//! The names that are read (design 2). In: a directory entry's name. Out: one document or lines, and for the gateway's
//! directory the UID it states; or nothing: the name is not for us.
//!
//! Not here: whether the UID is believed (`rules`).

use super::batch::Form;

/// Bytes of NAME before its ending.
const STEM_BYTES_MAX: usize = 100;
/// "No user" in every kernel interface.
const NO_UID: u32 = u32::MAX;

/// `NAME.json` or `NAME.jsonl` with NAME of `[A-Za-z0-9_-]{1,100}`.
pub(super) fn of_drop(name: &[u8]) -> Option<Form> {
    let (stem, form) = if let Some(stem) = name.strip_suffix(b".json") {
        (stem, Form::One)
    } else {
        (name.strip_suffix(b".jsonl")?, Form::Lines)
    };
    let fits = (1..=STEM_BYTES_MAX).contains(&stem.len())
        && stem
            .iter()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, b'_' | b'-'));
    fits.then_some(form)
}

/// `UID-NAME`, the UID in plain decimal without leading zeros.
pub(super) fn of_gate(name: &[u8]) -> Option<(u32, Form)> {
    let dash = name.iter().position(|c| *c == b'-')?;
    let (digits, rest) = name.split_at(dash);
    let plain = !digits.is_empty()
        && digits.iter().all(u8::is_ascii_digit)
        && (digits.len() == 1 || digits.first() != Some(&b'0'));
    let uid: u32 = plain
        .then(|| std::str::from_utf8(digits).ok()?.parse().ok())
        .flatten()?;
    let form = of_drop(rest.get(1..)?)?;
    (uid != NO_UID).then_some((uid, form))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_names_with_the_two_endings_are_read() {
        for name in [
            "a.json",
            "A-b_9.json",
            &format!("{}.json", "x".repeat(100)),
            "-.json",
            "json.json",
        ] {
            assert_eq!(of_drop(name.as_bytes()), Some(Form::One), "{name}");
        }
        assert_eq!(of_drop(b"a.jsonl"), Some(Form::Lines));
        let long = format!("{}.json", "x".repeat(101));
        let odd = [
            "",
            ".json",
            ".a.json",
            "a.JSON",
            "a.json ",
            "a.json~",
            "a.jsonl.json",
            "a b.json",
            "a",
            "a.",
            "a.json\n",
            "ä.json",
            "a\u{202e}.json",
            "../a.json",
            &long,
        ];
        for name in odd {
            assert_eq!(of_drop(name.as_bytes()), None, "{name:?}");
        }
        assert_eq!(of_drop(b"\xff.json"), None);
        assert_eq!(of_drop(b"a\0.json"), None);
    }

    #[test]
    fn a_gate_name_states_one_uid_in_one_way() {
        assert_eq!(of_gate(b"1000-a.json"), Some((1000, Form::One)));
        assert_eq!(of_gate(b"0-a-b.jsonl"), Some((0, Form::Lines)));
        assert_eq!(of_gate(b"4294967294--.json"), Some((4_294_967_294, Form::One)));
        let odd = [
            "a.json",
            "-a.json",
            "01000-a.json",
            "+1-a.json",
            " 1-a.json",
            "1000-.json",
            "1000.json",
            "00-a.json",
            "4294967295-a.json",
            "4294967296-a.json",
            "99999999999999999999-a.json",
            "1e3-a.json",
            "1000_a.json",
        ];
        for name in odd {
            assert_eq!(of_gate(name.as_bytes()), None, "{name}");
        }
    }
}
