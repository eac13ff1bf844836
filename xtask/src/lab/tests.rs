use clap::Parser as _;

use super::*;

#[derive(clap::Parser)]
struct Cli {
    #[command(flatten)]
    options: Options,
}

fn options(line: &str) -> Options {
    Cli::try_parse_from(std::iter::once("lab").chain(line.split_whitespace())).unwrap().options
}

fn plan(line: &str) -> Result<Plan> {
    Plan::new(&options(line))
}

#[test]
fn the_usual_lab_and_the_quick_one() {
    let usual = plan("").unwrap();
    assert_eq!((usual.rounds, usual.cpus, usual.length), USUAL);
    assert_eq!(usual.series.len(), 3);
    assert_eq!(
        usual.sentence(),
        "18 boots in turns, 16 CPUs, 5 loads of 10s each: cpu-stat, stat-reader-hogs, hogs, charge, sendfile"
    );
    let quick = plan("--quick --rounds 5 --loads hogs --no-control").unwrap();
    assert_eq!((quick.rounds, quick.cpus, quick.length), (5, QUICK.1, QUICK.2));
    assert_eq!(quick.sentence(), "10 boots in turns, 8 CPUs, one load of 5s each: hogs");
}

#[test]
fn what_cannot_be_is_refused() {
    assert!(plan("--duration 500ms").is_err_and(|error| error.to_string().contains("at least 1s")));
    assert!(plan("--loads nothing").is_err());
    for line in ["--rounds 0", "--cpus 1", "--cpus 256", "--quick --refresh"] {
        let words = std::iter::once("lab").chain(line.split_whitespace());
        assert!(Cli::try_parse_from(words).is_err(), "{line}");
    }
}

#[test]
fn a_hang_is_noticed_whatever_the_length() {
    let long = plan("--duration 10m --loads hogs,charge").unwrap();
    assert!(long.limit() > Duration::from_mins(20) && long.limit() < Duration::from_hours(1));
}

#[test]
fn only_a_labs_folder_is_emptied() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("lab");
    prepare(&output).unwrap();
    fs::create_dir(output.join("cpu-stat")).unwrap();
    // An interrupted lab's, too.
    prepare(&output).unwrap();
    assert!(!output.join("cpu-stat").exists() && output.join(report::FILE).exists());

    let theirs = folder.path().join("theirs");
    fs::create_dir(&theirs).unwrap();
    prepare(&theirs).unwrap();
    fs::remove_file(theirs.join(report::FILE)).unwrap();
    fs::write(theirs.join("thesis.tex"), "years of work").unwrap();
    let error = prepare(&theirs).unwrap_err().to_string();
    assert!(error.ends_with("is not empty and no lab's: name another folder with -o"), "{error}");
    assert!(theirs.join("thesis.tex").exists());
}

#[test]
fn init_is_a_script_for_busybox_that_mounts_the_shared_folder() {
    assert!(INIT.starts_with("#!/bin/busybox sh\n"));
    assert!(INIT.contains("mount -t 9p -o trans=virtio") && INIT.contains("sh /lab/jobs\n"));
}

#[test]
fn all_boots_are_done_in_order_and_none_after_a_failure() {
    let plan = plan("--rounds 4").unwrap();
    for jobs in [1, 3] {
        let done = Mutex::new(Vec::new());
        boot_all(&plan, jobs, |turn| {
            done.lock().unwrap().push(turn.name());
            Ok(())
        })
        .unwrap();
        let mut done = done.into_inner().unwrap();
        assert_eq!(done.len(), 12);
        if jobs == 1 {
            assert_eq!(done[..2], ["1-under-contention", "1-every-cpu"]);
        }
        done.sort_unstable();
        done.dedup();
        assert_eq!(done.len(), 12);
    }
    let begun = Mutex::new(0);
    let error = boot_all(&plan, 1, |turn| {
        *begun.lock().unwrap() += 1;
        if turn.round == 2 {
            bail!("{} broke", turn.name())
        }
        Ok(())
    });
    assert_eq!(error.unwrap_err().to_string(), "2-under-contention-again broke");
    assert_eq!(begun.into_inner().unwrap(), 4);
}
