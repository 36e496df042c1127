//! Which repository is taken, and where its ref points. In: settings. Out: an opened object store, or why not.
//!
//! The repository is opened lazily and opened again when its object directory is another one than before, so that a
//! repository that is away at the start, or unmounted later, is unavailable and comes back by itself.
//! Not here: reading objects (read.rs).

use super::fault::SourceFault;
use super::read::{self, Limits};
use super::settings::SourceSettings;
use gix::ObjectId;
use gix::odb::Store;
use gix::refs::Target;
use std::fmt;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Symbolic refs followed from the configured one.
const SYMBOLIC_MAX: usize = 5;

/// An opened repository.
pub(super) struct Opened {
    /// Shared by threads; each call makes its own handle.
    pub(super) store: Arc<Store>,
    /// Of every object and ref.
    pub(super) hash: gix::hash::Kind,
    /// Where `objects/` and `refs/` are.
    common_dir: PathBuf,
    objects: (u64, u64),
}

impl fmt::Debug for Opened {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Opened")
            .field("common_dir", &self.common_dir)
            .field("hash", &self.hash)
            .finish_non_exhaustive()
    }
}

fn identity(of: &Metadata) -> (u64, u64) {
    (of.dev(), of.ino())
}

fn unavailable(settings: &SourceSettings, why: impl Into<String>) -> SourceFault {
    SourceFault::Unavailable {
        path: settings.path.clone(),
        why: why.into(),
    }
}

impl Opened {
    /// Opens the repository at `settings.path`.
    pub(super) fn new(settings: &SourceSettings, limits: &Limits) -> Result<Opened, SourceFault> {
        // Only the object format is taken from the repository's configuration. Its owner may be another user: what would be
        // unsafe to believe is not believed from anyone.
        let options = gix::open::Options::isolated()
            .strict_config(true)
            .with(gix::sec::Trust::Full);
        let repository = options.open(&settings.path).map_err(|error| {
            let what = read::words(&error);
            unavailable(
                settings,
                format!(
                    "it does not open as a git repository ({what}); check source.path and who may read it"
                ),
            )
        })?;
        let repository = repository.to_thread_local();
        refuse_reftable(settings, &repository)?;
        let common_dir = repository.common_dir().to_owned();
        let objects_dir = common_dir.join("objects");
        check_files(settings, &common_dir)?;
        let objects = objects_dir
            .metadata()
            .map_err(|error| unavailable(settings, format!("objects/: {}", error.kind())))?;
        let hash = repository.object_hash();
        let options = gix::odb::store::init::Options {
            slots: gix::odb::store::init::Slots::AsNeededByDiskState {
                multiplier: 2.0,
                minimum: 64,
            },
            // Every pack has an index of its own; one way to find an object is enough.
            use_multi_pack_index: false,
            alloc_limit_bytes: Some(limits.allocation_max()),
            ..gix::odb::store::init::Options::default()
        };
        let store = Store::at_opts(objects_dir, hash, &mut std::iter::empty(), options)
            .map_err(|error| unavailable(settings, format!("objects/: {}", error.kind())))?;
        Ok(Opened {
            store: Arc::new(store),
            hash,
            common_dir,
            objects: identity(&objects),
        })
    }

    /// Whether this is still what is at the path, and nothing was added that is refused.
    pub(super) fn is_current(&self, settings: &SourceSettings) -> Result<bool, SourceFault> {
        let Ok(now) = self.common_dir.join("objects").metadata() else {
            return Ok(false);
        };
        if identity(&now) != self.objects {
            return Ok(false);
        }
        check_files(settings, &self.common_dir).map(|()| true)
    }

    /// Whether the history was cut when it was fetched.
    pub(super) fn is_shallow(&self) -> bool {
        has_content(&self.common_dir.join("shallow"))
    }

    /// What the ref points to: a commit, or a tag object that leads to one.
    pub(super) fn resolve(&self, settings: &SourceSettings) -> Result<ObjectId, SourceFault> {
        // Made anew for each call: it is a few paths, and packed-refs is read as it is now.
        let refs = gix::refs::file::Store::at(self.common_dir.clone(), self.hash);
        let mut name = settings.full_ref();
        for _ in 0..SYMBOLIC_MAX {
            let full: &gix::refs::FullNameRef = name.as_str().try_into().map_err(|_| {
                unavailable(
                    settings,
                    format!("\"{name}\" is not the name of a ref; correct source.ref"),
                )
            })?;
            let found = look_up(&refs, full).map_err(|error| {
                unavailable(
                    settings,
                    format!("{name} cannot be read ({})", read::words(&error)),
                )
            })?;
            match found {
                Some(Target::Object(id)) if id.kind() == self.hash => return Ok(id),
                Some(Target::Object(_)) => {
                    return Err(unavailable(
                        settings,
                        format!("{name} does not hold one of its ids"),
                    ));
                }
                Some(Target::Symbolic(next)) => name = next.as_bstr().to_string(),
                None => {
                    return Err(unavailable(
                        settings,
                        format!("it has no {name}; create it, or correct source.ref"),
                    ));
                }
            }
        }
        Err(unavailable(
            settings,
            format!("{} leads from ref to ref without end", settings.full_ref()),
        ))
    }
}

/// The ref of exactly this name: its own file, else its line in packed-refs, which is opened only after the file was found to
/// be absent. The other way round, a `git pack-refs` between the two steps would bring back an older value.
fn look_up(refs: &gix::refs::file::Store, full: &gix::refs::FullNameRef) -> gix::Result<Option<Target>> {
    // The library completes names (`refs/tags/` + name); what it found that way is another ref.
    let exact = |found: gix::refs::Reference| (found.name.as_ref() == full).then_some(found.target);
    if let Some(target) = refs.try_find_packed(full, None)?.and_then(exact) {
        return Ok(Some(target));
    }
    let packed = refs.open_packed_buffer()?;
    Ok(refs.try_find_packed(full, packed.as_ref())?.and_then(exact))
}

fn refuse_reftable(settings: &SourceSettings, repository: &gix::Repository) -> Result<(), SourceFault> {
    match repository.config_snapshot().string("extensions.refStorage") {
        Some(kind) if kind.as_slice() != b"files" => Err(unavailable(
            settings,
            "its refs are not kept as files (extensions.refStorage); `git refs migrate --ref-format=files` changes that",
        )),
        _ => Ok(()),
    }
}

/// Refuses what would bring in objects or parents from elsewhere.
fn check_files(settings: &SourceSettings, common_dir: &Path) -> Result<(), SourceFault> {
    if has_content(&common_dir.join("objects/info/alternates")) {
        return Err(unavailable(
            settings,
            "objects/info/alternates borrows objects from another repository, which is not followed; \
             `git repack -a -d`, then remove that file",
        ));
    }
    if has_content(&common_dir.join("info/grafts")) {
        return Err(unavailable(
            settings,
            "info/grafts changes its history, which is not followed; remove that file",
        ));
    }
    Ok(())
}

/// Anything but an absent or empty file; what cannot be looked at counts.
fn has_content(path: &Path) -> bool {
    match path.symlink_metadata() {
        Ok(of) => !of.is_file() || of.len() > 0,
        Err(error) => error.kind() != std::io::ErrorKind::NotFound,
    }
}
