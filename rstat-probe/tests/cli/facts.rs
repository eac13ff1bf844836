//! `check --save-facts`: the facts of a kernel, to be looked at elsewhere.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Output,
};

use crate::{names, refusal, text};

fn kernels() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/kernels")
}

fn save(root: &Path, folder: &Path) -> Output {
    crate::tool().arg("check").arg("--root").arg(root).arg("--save-facts").arg(folder).output().unwrap()
}

fn check(root: &Path) -> Output {
    crate::tool().arg("check").arg("--root").arg(root).output().unwrap()
}

/// What `check` says with the name of the root left out.
fn answer(output: &Output, root: &Path) -> (Option<i32>, String) {
    assert_eq!(text(&output.stderr), "");
    let stdout = text(&output.stdout);
    assert!(!stdout.contains("ffffffff8"), "shows an address: {stdout}");
    let root = format!("{}/", root.display());
    (output.status.code(), if root == "//" { stdout.to_owned() } else { stdout.replace(&root, "/") })
}

/// Saves the facts below `root` and checks that what is said of them is the same.
#[track_caller]
fn assert_round_trip(root: &Path) {
    let parent = tempfile::tempdir().unwrap();
    let folder = parent.path().join("new/folder");
    let saving = answer(&save(root, &folder), root);
    assert_eq!(saving, answer(&check(root), root), "saving changes no answer: {}", root.display());
    assert_eq!(answer(&check(&folder), &folder), saving, "{}", root.display());
}

#[test]
fn of_other_kernels() {
    for entry in fs::read_dir(kernels()).unwrap() {
        assert_round_trip(&entry.unwrap().path());
    }
}

/// Also where this user can read but half of it.
#[test]
fn of_this_kernel() {
    assert_round_trip(Path::new("/"));
}

#[test]
fn nothing_is_overwritten() {
    let root = kernels().join("6.12.118-cloud-amd64");
    let parent = tempfile::tempdir().unwrap();
    let folder = parent.path().join("facts");
    fs::create_dir(&folder).unwrap();
    assert_eq!(save(&root, &folder).status.code(), Some(0), "an empty folder is fine");
    assert_eq!(names(&folder), ["proc", "sys"]);
    assert_eq!(
        refusal(&save(&root, &folder)),
        format!("cannot save the facts in {}: the folder is not empty", folder.display())
    );
    let file = parent.path().join("file");
    fs::write(&file, "old").unwrap();
    for folder in [&file, &file.join("facts")] {
        assert_eq!(
            refusal(&save(&root, folder)),
            format!("cannot save the facts in {}: Not a directory (os error 20)", folder.display())
        );
    }
    assert_eq!(fs::read_to_string(&file).unwrap(), "old");
    assert_eq!(names(parent.path()), ["facts", "file"]);
}
