//! Names that are paths, and names that only look like it.

use super::*;
use proptest::prelude::*;

const ROOT: &str = "/app/vault/";

fn code(text: &str) -> Option<Code> {
    VaultPath::parse(ROOT, text).err().map(|broken| broken.code)
}

/// Each of these, below the root and as part of a deeper path, is refused with `due`.
fn each_component_refused(due: Code, components: &[&str]) {
    for component in components {
        for relative in [
            component.to_string(),
            format!("a/{component}"),
            format!("{component}/a"),
            format!("a/{component}/b.md"),
        ] {
            assert_eq!(code(&format!("{ROOT}{relative}")), Some(due), "{relative:?}");
            assert_eq!(
                ObjectId::parse_as_path(&relative).err().map(|broken| broken.code),
                Some(Code::BadObjectId)
            );
        }
    }
}

#[test]
fn t18_honest_names_are_paths_as_they_are() {
    #[rustfmt::skip]
    let names = [
        "a", "a.md", "notes/a.md", "Über uns.md", "100% done.md", "100%.md", "5%2", 
        "foo... bar", "a..b", "a.", "a..", "a…b.md", "x -- y", "it's \"so\"", "a:b", "a|b?*<>", "日本語.md", "中文/文件.md",
        "한국어.md", "naïve café.md", "Ελληνικά", "Привет.md", "שלום.md", "مرحبا.md", "हिन्दी.md", "ไทย.md", "ﬁn.md", "①.md",
        "²³", "½", "℡", "Ａ.md", "👨‍👩‍👧‍👦 family.md", "👩🏽‍💻/🏳️‍🌈.md", "🏴‍☠️.md", "ℹ️ info.md", "1️⃣ one.md", "™️", "❤️‍🔥", "🇩🇪.md",
        "🏴\u{E0067}\u{E0062}\u{E0065}\u{E006E}\u{E0067}\u{E007F}.md", "葛\u{E0100}城.md", "a  b", "~", "-rf", "$HOME", "`id`", "CON", "nul.txt", "a;b&c",
        "name=value", "#tag", "[[link]]", "_", "+", "it´s", "\u{fdfa}", "a\u{2017}", "㏂",
    ];
    for name in names {
        let path =
            VaultPath::parse(ROOT, &format!("{ROOT}{name}")).unwrap_or_else(|no| panic!("{name}: {no:?}"));
        assert_eq!(
            (path.relative(), path.as_str()),
            (name, format!("{ROOT}{name}").as_str())
        );
        assert_eq!(path.to_string(), path.as_str());
        assert_eq!(ObjectId::parse_as_path(name).unwrap().as_str(), name);
    }
}

#[test]
fn t15_t16_what_is_not_below_the_root_is_outside() {
    #[rustfmt::skip]
    let outside = [
        "", "/", "x", "a/b.md", "/x", "/etc/passwd", "/app", "/app/", "/app/vault", "/app/vaultx/a", "/app/vault-old/a",
        "/app/vault.bak/a", "/APP/vault/a", "/app/Vault/a", "//app/vault/a", "/app//vault/a", "/app/./vault/a",
        "/app/x/../vault/a", "app/vault/a", " /app/vault/a", "C:\\vault\\a", "C:/app/vault/a", "\\\\host\\app\\vault\\a",
        "\\app\\vault\\a", "file:///app/vault/a", "~/a", "/app/vault\\a", "/app/vault\u{2215}a", "/app/vault%2fa", "\u{ff0f}app/vault/a",
        "/proc/self/root/app/vault/a", "/app/v\u{430}ult/a", "\0/app/vault/a",
    ];
    for path in outside {
        assert_eq!(code(path), Some(Code::PathOutsideRoot), "{path:?}");
    }
    // Another root has another inside; the root `/` is allowed to hold everything.
    assert_eq!(VaultPath::parse("/srv/v/", "/srv/v/a").unwrap().relative(), "a");
    assert_eq!(VaultPath::parse("/srv/v", "/srv/v/a").unwrap().relative(), "a");
    assert_eq!(VaultPath::parse("/", "/srv/v/a").unwrap().relative(), "srv/v/a");
    assert_eq!(
        VaultPath::parse("/srv/v/", "/app/vault/a").unwrap_err().code,
        Code::PathOutsideRoot
    );
}

#[test]
fn t15_dots_and_empty_components_are_refused() {
    each_component_refused(Code::PathTraversal, &[".", ".."]);
    each_component_refused(
        Code::PathHidden,
        &[
            ".git",
            ".a.md",
            "...",
            "....",
            "..a",
            ".. ",
            ". ",
            ".%2e",
            ".lockgate-vault",
        ],
    );
    for path in [
        "/app/vault/",
        "/app/vault//",
        "/app/vault//a",
        "/app/vault/a//b",
        "/app/vault/a/",
        "/app/vault///etc",
    ] {
        assert_eq!(code(path), Some(Code::PathAmbiguous), "{path}");
    }
    // The first component that breaks a rule gives the code.
    assert_eq!(code("/app/vault/../.git"), Some(Code::PathTraversal));
    assert_eq!(code("/app/vault/.git/.."), Some(Code::PathHidden));
    assert_eq!(code("/app/vault/a\\b/.."), Some(Code::PathAmbiguous));
}

#[test]
fn t16_t17_t20_a02_a03_ambiguous_components_are_refused() {
    #[rustfmt::skip]
    let names = [
        "a\\b", "\\", "C:\\x", "%2e%2e", "%252e", "%2f", "a%2Fb", "a%5cb", "%00", "a%20b", "%C0%AE",
        "50%25 off", "100%aa", " a", "a ", " ", "\u{a0}a", "a\u{a0}", "\u{3000}a", "a\u{3000}", "a\u{2003}", "a\0", "\0", "a\nb",
        "a\tb", "\u{1b}[31m", "\u{7f}", "a\u{85}b", "\u{9b}", "a\u{2028}b", "a\u{2029}",
    ];
    each_component_refused(Code::PathAmbiguous, &names);
}

#[test]
fn t18_a02_unicode_that_looks_like_something_else_is_refused() {
    #[rustfmt::skip]
    let names = [
        // Not NFC.
        "e\u{301}.md", "u\u{308}ber", "\u{212b}ngstr\u{f6}m", "\u{1100}\u{1161}", "\u{2126}", "\u{f900}",
        // NFKC breaks a rule: dots, slashes, backslashes, percent signs, spaces and accents that bring one.
        "\u{ff0e}\u{ff0e}", "\u{ff0e}git", "\u{2024}", "\u{2024}\u{2024}", "\u{2025}", "\u{2025}x", "\u{2026}",
        "\u{2026}a", "\u{fe52}a", "a\u{ff0f}b", "\u{2100}", "\u{2101}", "\u{2105}", "\u{2106}", "a\u{ff3c}b",
        "a\u{fe68}b", "\u{ff05}2e", "%\u{ff12}e", "\u{fe6a}2e", "%2\u{ff45}", "%\u{b2}e", "\u{b4}a", "\u{a8}a",
        "\u{fc5e}", "\u{3000}", "a\u{3000}", "\u{2017}",
        // Invisible characters; the whole list is in the tests of `unicode`.
        "a\u{ad}b", "a\u{200b}b", "\u{200d}a", "a\u{200d}b", "a\u{202e}gpj.exe", "\u{feff}a", "a\u{2066}b", "a\u{fe0f}",
        "1\u{fe0f}", "👨\u{200d}", "😀\u{fe0e}", "🏴\u{e0067}\u{e007f}", "a\u{e0041}", "\u{3164}", "a\u{180e}b",
        "a\u{61c}", "\u{fff9}a\u{fffb}", "\u{1160}", "\u{ffa0}a",
    ];
    each_component_refused(Code::PathAmbiguous, &names);
}

#[test]
fn lengths_are_bytes_and_end_where_the_contract_says() {
    let path = |relative: &str| code(&format!("{ROOT}{relative}"));
    assert_eq!(path(&"a".repeat(255)), None);
    assert_eq!(path(&"a".repeat(256)), Some(Code::PathAmbiguous));
    assert_eq!(path(&"é".repeat(127)), None);
    assert_eq!(path(&"é".repeat(128)), Some(Code::PathAmbiguous));
    assert_eq!(path(&vec!["a"; 32].join("/")), None);
    assert_eq!(path(&vec!["a"; 33].join("/")), Some(Code::PathAmbiguous));
    let long = |last: usize| format!("{0}/{0}/{0}/{0}/{1}", "a".repeat(250), "b".repeat(last));
    let fits = PATH_BYTES_MAX - ROOT.len() - 4 * 251;
    assert_eq!(path(&long(fits)), None);
    let broken = VaultPath::parse(ROOT, &format!("{ROOT}{}", long(fits + 1))).unwrap_err();
    assert_eq!(
        (broken.code, broken.message.as_str()),
        (Code::PathAmbiguous, "the path is longer than 1024 bytes")
    );
    // U+FDFA grows from 3 bytes to 33 in NFKC: a name that only looks short.
    assert_eq!(path(&"\u{fdfa}".repeat(7)), None);
    assert_eq!(path(&"\u{fdfa}".repeat(8)), Some(Code::PathAmbiguous));
    let wide = vec!["\u{fdfa}".repeat(7); 5].join("/");
    assert_eq!(path(&wide), Some(Code::PathAmbiguous));
}

#[test]
fn t20_object_ids_are_short_visible_and_normal() {
    for good in [
        "a",
        "note-42",
        "../x",
        "/etc",
        "a%2eb",
        " a ",
        "日本",
        &"a".repeat(256),
    ] {
        assert_eq!(ObjectId::parse(good).unwrap().as_str(), good);
    }
    for bad in [
        "",
        "a\nb",
        "\0",
        "a\u{7f}",
        "\u{85}",
        "e\u{301}",
        &"a".repeat(257),
        &"é".repeat(129),
    ] {
        assert_eq!(
            ObjectId::parse(bad).unwrap_err().code,
            Code::BadObjectId,
            "{bad:?}"
        );
    }
    let long = vec!["abc"; 33].join("/");
    assert_eq!(
        ObjectId::parse_as_path(&long).unwrap_err().code,
        Code::BadObjectId
    );
}

#[test]
fn a_refusal_names_the_component_and_never_repeats_it() {
    let broken = VaultPath::parse(ROOT, "/app/vault/notes/se\u{200b}cret/a").unwrap_err();
    assert_eq!(
        broken.message,
        "component 2 holds an invisible character outside an emoji sequence"
    );
    for text in [
        "/app/vault/../secret",
        "/secret",
        "/app/vault/secret\\",
        "/app/vault/\u{ff0e}secret",
    ] {
        assert!(
            !VaultPath::parse(ROOT, text)
                .unwrap_err()
                .message
                .contains("secret"),
            "{text}"
        );
    }
}

/// Parts of which names and attacks are made.
fn relatives() -> impl Strategy<Value = String> {
    #[rustfmt::skip]
    const PARTS: [&str; 38] = [
        "a", "b.md", ".", "..", "/", "//", "%", "2e", "%2e", " ", "\\", "é", "e\u{301}", "\u{ff0e}", "\u{ff0f}", "\u{2024}", "…", "\u{200b}",
        "\u{200d}", "\u{fe0f}", "👩", "💻", "🏽", "1", "\u{20e3}", "🏴", "\u{e0067}", "\u{e007f}", "中", "\u{e0100}", "\0", "\n", "\u{a0}", "\u{2028}",
        "\u{fdfa}", "½", "´", "\u{202e}",
    ];
    let part = prop_oneof![4 => prop::sample::select(&PARTS[..]).prop_map(str::to_owned), 1 => any::<char>().prop_map(String::from)];
    prop::collection::vec(part, 0..8).prop_map(|parts| parts.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]
    /// What is accepted is one path to the file system, in any normalization, and stays below the root.
    #[test]
    fn t15_t18_an_accepted_path_is_safe_in_every_reading(relative in relatives()) {
        let Ok(path) = VaultPath::parse(ROOT, &format!("{ROOT}{relative}")) else { return Ok(()) };
        prop_assert_eq!(path.relative(), relative.as_str());
        prop_assert!(is_nfc(&relative));
        let count = relative.split('/').count();
        for reading in [relative.clone(), relative.nfkc().collect(), relative.nfkd().collect(), relative.nfd().collect()] {
            let components: Vec<_> = std::path::Path::new(&reading).components().collect();
            prop_assert_eq!(components.len(), count, "{:?}", reading);
            for component in components {
                let std::path::Component::Normal(name) = component else { panic!("{component:?}") };
                let name = name.to_str().unwrap();
                prop_assert!(!name.starts_with('.') && !name.starts_with(' ') && !name.ends_with(' '));
                prop_assert!(!name.contains(|c: char| c.is_control() || c == '\\'));
                // The contract asks for composed forms: `%0é` is a name, although it decomposes into `%0e` and an accent.
                prop_assert!(!is_nfc(name) || !has_percent_escape(name));
            }
        }
        // Judged again, and as an object id, it is the same.
        prop_assert_eq!(VaultPath::parse(ROOT, path.as_str()), Ok(path.clone()));
        prop_assert_eq!(ObjectId::parse_as_path(&relative).is_ok(), relative.len() <= OBJECT_ID_BYTES_MAX);
    }

    #[test]
    fn no_text_makes_the_judge_fail(text in any::<String>(), root in "/[a-z]{0,3}(/[a-z]{1,3}){0,2}/?") {
        if let Ok(path) = VaultPath::parse(&root, &text) {
            prop_assert!(path.as_str().starts_with(&root) && !path.relative().is_empty());
        }
    }

    #[test]
    fn t18_plain_names_are_never_refused(parts in prop::collection::vec("[A-Za-z0-9_äöüß日-][A-Za-z0-9_ .,()äöüß日-]{0,20}[A-Za-z0-9_äöü]", 1..8)) {
        prop_assert_eq!(code(&format!("{ROOT}{}", parts.join("/"))), None);
    }
}
