//! JSON pointers (RFC 6901) in refusals. In: keys from the outside in. Out: `/signatures/0/scheme`, bounded.
//!
//! Not here: following a pointer.

/// Characters of one key that a pointer shows. Our field names are far shorter; only a hostile key is cut.
const KEY_CHARS_MAX: usize = 64;

/// The pointer to the value that `keys` lead to.
pub fn of<K: AsRef<str>>(keys: impl IntoIterator<Item = K>) -> String {
    let mut out = String::new();
    for key in keys {
        out.push('/');
        push_key(&mut out, key.as_ref());
    }
    out
}

/// The pointer to field `key` of what `base` points to.
pub fn child(base: &str, key: &str) -> String {
    let mut out = base.to_owned();
    out.push('/');
    push_key(&mut out, key);
    out
}

fn push_key(out: &mut String, key: &str) {
    for (at, c) in key.chars().enumerate() {
        if at == KEY_CHARS_MAX {
            out.push('…');
            return;
        }
        match c {
            '~' => out.push_str("~0"),
            '/' => out.push_str("~1"),
            c => out.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pointer_escapes_and_cuts_keys() {
        assert_eq!(of(["a/b", "~x", "0"]), "/a~1b/~0x/0");
        assert_eq!(of([""]), "/");
        assert_eq!(child("/signatures", "a~/"), "/signatures/a~0~1");
        assert_eq!(of(["k".repeat(65)]), format!("/{}…", "k".repeat(64)));
        assert_eq!(of(["k".repeat(64)]), format!("/{}", "k".repeat(64)));
    }
}
