//! Path patterns of the policy. In: text such as `/app/vault/notes/**`. Out: a pattern that matches whole paths by
//! component.
//!
//! Not here: who is allowed what (`requesters`, approval/).

use std::fmt;

/// `*` and `?` stay within one component, `**` stands for any number of whole components, `[…]` for one character.
#[derive(Clone, PartialEq, Eq)]
pub struct PathPattern {
    glob: glob::Pattern,
}

/// Paths are at most 1,024 bytes; a longer pattern is a mistake.
const PATTERN_BYTES_MAX: usize = 1024;

/// Case counts, `*` does not cross a `/`, and a leading dot needs no special mention (such paths never get this far).
const HOW: glob::MatchOptions = glob::MatchOptions {
    case_sensitive: true,
    require_literal_separator: true,
    require_literal_leading_dot: false,
};

impl PathPattern {
    /// A pattern for paths below `root` (which ends in `/`).
    ///
    /// # Errors
    /// What is wrong with the text, in words.
    pub fn parse(root: &str, text: &str) -> Result<PathPattern, String> {
        if text.len() > PATTERN_BYTES_MAX {
            return Err(format!("is longer than {PATTERN_BYTES_MAX} bytes"));
        }
        if !text.starts_with(root) {
            return Err(format!(
                "\"{text}\" can never match: every path begins with vault.root, \"{root}\""
            ));
        }
        let glob = glob::Pattern::new(text).map_err(|error| {
            format!(
                "\"{text}\" is not a pattern: {}, at character {}",
                error.msg, error.pos
            )
        })?;
        Ok(PathPattern { glob })
    }

    /// Whether the whole path fits.
    pub fn matches(&self, path: &str) -> bool {
        self.glob.matches_with(path, HOW)
    }

    /// The text it was made from.
    pub fn as_str(&self) -> &str {
        self.glob.as_str()
    }
}
impl fmt::Debug for PathPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.glob.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fits(pattern: &str, path: &str) -> bool {
        PathPattern::parse("/app/vault/", pattern).unwrap().matches(path)
    }

    #[test]
    fn a_star_stays_within_a_component_and_two_cross_them() {
        assert!(fits("/app/vault/**", "/app/vault/a.md"));
        assert!(fits("/app/vault/**", "/app/vault/a/b/c.md"));
        assert!(fits("/app/vault/*.md", "/app/vault/a.md"));
        assert!(!fits("/app/vault/*.md", "/app/vault/a/b.md"));
        assert!(fits("/app/vault/notes/**", "/app/vault/notes/x"));
        assert!(!fits("/app/vault/notes/**", "/app/vault/notesx/y"));
        assert!(!fits("/app/vault/notes/**", "/app/vault/NOTES/x"));
        assert!(fits("/app/vault/**/a.md", "/app/vault/a.md"));
        assert!(!fits("/app/vault/a", "/app/vault/a/b"));
        assert!(!fits("/app/vault/a?b", "/app/vault/a/b"));
        assert!(!fits("/app/vault/a[/]b", "/app/vault/a/b"));
    }

    #[test]
    fn a_pattern_that_can_never_match_is_refused() {
        for text in [
            "",
            "*",
            "/app/vaultx/**",
            "/app/vault",
            "/app/vault/a**",
            "/app/vault/[a",
            "/app/vault/***",
        ] {
            assert!(PathPattern::parse("/app/vault/", text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_pattern_full_of_stars_is_judged_quickly() {
        let pattern = format!("/app/vault/{}b", "a*".repeat(100));
        assert!(!fits(&pattern, &format!("/app/vault/{}", "a".repeat(1000))));
    }
}
