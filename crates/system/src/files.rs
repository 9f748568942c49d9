//! Files that are replaced whole, and checksums of their contents.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

/// Returns a checksum, by which damage is found (FNV-1a over words of 64 bits).
pub(crate) fn checksum(bytes: &[u8]) -> u64 {
    let mix = |sum: u64, word: u64| (sum ^ word).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(29);
    let (words, rest) = bytes.as_chunks();
    let sum =
        words.iter().fold(0xcbf2_9ce4_8422_2325 ^ bytes.len() as u64, |sum, &word| mix(sum, u64::from_le_bytes(word)));
    rest.iter().fold(sum, |sum, &byte| mix(sum, byte.into()))
}

/// Writes a file aside, forces it to disk and renames it, so that the former file stays until the new one is complete.
/// The permissions of the former file are kept where this is possible.
///
/// # Errors
/// If the file cannot be written. Nothing is left then but the former file.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut aside = path.as_os_str().to_owned();
    aside.push(".tmp");
    let write = || -> io::Result<()> {
        // A killed process may have left one that cannot be written.
        let _ = fs::remove_file(&aside);
        let mut file = File::create(&aside)?;
        if let Ok(former) = fs::metadata(path) {
            // Some file systems have no permissions.
            let _ = file.set_permissions(former.permissions());
        }
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&aside, path)?;
        sync_folder(path.parent().filter(|folder| *folder != Path::new("")).unwrap_or(Path::new(".")))
    };
    write().inspect_err(|_| {
        // The first error is the one to report.
        let _ = fs::remove_file(&aside);
    })
}

/// Forces the names of a folder's files to disk.
fn sync_folder(folder: &Path) -> io::Result<()> {
    units::input::open(folder)?.sync_all()
}
