//! Owner, group, mode, access lists: kept or refused.
use super::child::{self, Child};
use super::*;
use crate::target::Intent;
use rustix::fs::XattrFlags;
use std::os::unix::fs::{MetadataExt, chown};

fn facts(path: &Path) -> (u32, u32, u32) {
    let metadata = std::fs::symlink_metadata(path).unwrap();
    (metadata.uid(), metadata.gid(), metadata.mode() & 0o7777)
}

fn mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

#[test]
fn new_files_and_directories_take_group_and_mode_from_above_and_not_from_the_umask() {
    let (_dir, root) = place();
    let (uid, mut gid, _) = facts(&root);
    if is_root() {
        gid = 4711;
        chown(&root, None, Some(gid)).unwrap();
    }
    mode(&root, 0o2775);
    let vault = driver(&root);
    let path = at("d/e/a.md");
    assert_eq!(vault.preflight(&path, Intent::Write).unwrap(), Preflight::Clear);
    assert_eq!(vault.write(&[order(&path, b"x", Before::Absent)]), [Answer::Done]);
    assert_eq!(facts(&root.join("d")), (uid, gid, 0o2775));
    assert_eq!(facts(&root.join("d/e")), (uid, gid, 0o2775));
    assert_eq!(facts(&root.join("d/e/a.md")), (uid, gid, 0o664));
    mode(&root, 0o755);
    assert_eq!(
        vault.write(&[order(&at("f/a.md"), b"x", Before::Absent)]),
        [Answer::Done]
    );
    assert_eq!(facts(&root.join("f")), (uid, gid, 0o775));
    assert_eq!(facts(&root.join("f/a.md")), (uid, gid, 0o664));
}

#[test]
fn a_replaced_file_keeps_owner_group_mode_and_attributes() {
    let (_dir, root) = place();
    let file = root.join("a.md");
    std::fs::write(&file, b"old").unwrap();
    if is_root() {
        chown(&file, Some(4712), Some(4711)).unwrap();
    }
    mode(&file, 0o2640);
    let before = facts(&file);
    let open = std::fs::File::open(&file).unwrap();
    let labelled = rustix::fs::fsetxattr(&open, "user.colour", b"green", XattrFlags::empty()).is_ok();
    let path = at("a.md");
    let vault = driver(&root);
    assert_eq!(vault.preflight(&path, Intent::Write).unwrap(), Preflight::Clear);
    assert_eq!(vault.write(&[over(&path, b"new", b"old")]), [Answer::Done]);
    assert_eq!(facts(&file), before);
    assert_eq!(std::fs::read(&file).unwrap(), b"new");
    let mut value = [0u8; 16];
    let open = std::fs::File::open(&file).unwrap();
    let len = rustix::fs::fgetxattr(&open, "user.colour", &mut value).unwrap_or(0);
    assert!(!labelled || &value[..len] == b"green");
}

/// A POSIX access list as the kernel stores it: version 2, then (tag, permissions, id).
fn access_list(entries: &[(u16, u16, u32)]) -> Vec<u8> {
    let mut bytes = 2u32.to_le_bytes().to_vec();
    for (tag, permissions, id) in entries {
        bytes.extend(tag.to_le_bytes());
        bytes.extend(permissions.to_le_bytes());
        bytes.extend(id.to_le_bytes());
    }
    bytes
}

#[test]
fn an_access_list_is_kept_and_a_directorys_default_list_is_not_put_on_a_file_without_one() {
    let (_dir, root) = place();
    let none = u32::MAX;
    // The owning group may nothing, user 4713 may read and write: without the list, 0660 would let the group in.
    let list = access_list(&[
        (1, 6, none),
        (2, 6, 4713),
        (4, 0, none),
        (16, 6, none),
        (32, 0, none),
    ]);
    std::fs::write(root.join("listed.md"), b"old").unwrap();
    std::fs::write(root.join("plain.md"), b"old").unwrap();
    mode(&root.join("plain.md"), 0o600);
    let open = |name: &str| std::fs::File::open(root.join(name)).unwrap();
    if rustix::fs::fsetxattr(
        open("listed.md"),
        "system.posix_acl_access",
        &list,
        XattrFlags::empty(),
    )
    .is_err()
    {
        eprintln!("not checked: no access lists here");
        return;
    }
    let room = std::fs::File::open(&root).unwrap();
    rustix::fs::fsetxattr(&room, "system.posix_acl_default", &list, XattrFlags::empty()).unwrap();
    let (listed, plain) = (at("listed.md"), at("plain.md"));
    let answers = driver(&root).write(&[over(&listed, b"new", b"old"), over(&plain, b"new", b"old")]);
    assert_eq!(answers, [Answer::Done, Answer::Done]);
    let mut value = [0u8; 256];
    let len = rustix::fs::fgetxattr(open("listed.md"), "system.posix_acl_access", &mut value).unwrap();
    assert_eq!(&value[..len], list);
    assert!(rustix::fs::fgetxattr(open("plain.md"), "system.posix_acl_access", &mut value).is_err());
    assert_eq!(facts(&root.join("plain.md")).2, 0o600);
}

#[test]
fn permissions_taken_away_after_the_look_are_not_given_back() {
    let (_dir, root) = place();
    std::fs::write(root.join("a.md"), b"old").unwrap();
    let file = root.join("a.md");
    let vault = meanwhile(&root, move || {
        mode(&file, 0o600);
        Ok(())
    });
    let answers = vault.write(&[over(&at("a.md"), b"new", b"old")]);
    assert_eq!(
        answers,
        [Answer::NoAnswer {
            detail: "attributes_changed"
        }]
    );
    assert_eq!(std::fs::read(root.join("a.md")).unwrap(), b"old");
    assert_eq!(facts(&root.join("a.md")).2, 0o600);
    assert_eq!(all_names(&root), ["a.md"]);
}

#[test]
fn other_names_of_a_hard_linked_file_keep_the_old_bytes() {
    let (_dir, root) = place();
    std::fs::write(root.join("a.md"), b"old").unwrap();
    std::fs::hard_link(root.join("a.md"), root.join("b.md")).unwrap();
    let vault = driver(&root);
    assert_eq!(vault.write(&[over(&at("a.md"), b"new", b"old")]), [Answer::Done]);
    assert_eq!(std::fs::read(root.join("b.md")).unwrap(), b"old");
    assert_eq!(vault.delete(&[removal(&at("a.md"), b"new")]), [Answer::Done]);
    assert_eq!(std::fs::read(root.join("b.md")).unwrap(), b"old");
}

#[test]
fn a_user_who_cannot_keep_them_is_refused_before_and_at_the_write() {
    if !is_root() {
        eprintln!("not checked: only root can become somebody else");
        return;
    }
    let (dir, root) = place();
    let nobody = 65534;
    chown(&root, Some(nobody), Some(nobody)).unwrap();
    let file = |name: &str, uid, gid, bits| {
        std::fs::write(root.join(name), b"old").unwrap();
        chown(root.join(name), Some(uid), Some(gid)).unwrap();
        mode(&root.join(name), bits);
    };
    file("own.md", nobody, nobody, 0o664);
    file("others.md", 4712, nobody, 0o664);
    file("group.md", nobody, 4711, 0o664);
    file("secret.md", 4712, 4711, 0o600);
    for (name, uid, gid, bits) in [("closed", 4712, nobody, 0o755), ("foreign", nobody, 4711, 0o755)] {
        std::fs::create_dir(root.join(name)).unwrap();
        chown(root.join(name), Some(uid), Some(gid)).unwrap();
        mode(&root.join(name), bits);
    }
    std::fs::create_dir(root.join("sticky")).unwrap();
    file("sticky/others.md", 4712, nobody, 0o664);
    mode(&root.join("sticky"), 0o1777);
    let told = child::run(
        dir.path(),
        Child {
            verb: "permissions",
            failpoint: None,
            uid: Some(nobody),
        },
    );
    let expected = "\
own.md Clear Clear Done\n\
others.md Refused Clear Refused\n\
group.md Refused Clear Refused\n\
secret.md Refused Clear Refused\n\
closed/new.md Refused Refused NotSent\n\
foreign/new.md Refused Clear Refused\n\
foreign/d/new.md Refused Clear Refused\n\
sticky/others.md Refused Refused Refused\n\
new.md Clear Clear Done\n";
    assert_eq!(told, expected);
    assert_eq!(std::fs::read(root.join("others.md")).unwrap(), b"old");
    assert!(
        all_names(&root).iter().all(|name| !name.contains(".lockgate")),
        "{:?}",
        all_names(&root)
    );
}
