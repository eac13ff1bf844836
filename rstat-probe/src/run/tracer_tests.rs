//! The state machine against folders and files that look like tracefs.

use super::*;

/// A trace of [`TRACER`], short.
const TRACE: &str = "\
# tracer: irqsoff
#
# irqsoff latency trace v1.1.5 on 6.12.118
# --------------------------------------------------------------------
# latency: 532 us, #1/1, CPU#3 | (M:desktop VP:0, KP:0, SP:0 HP:0 #P:8)
#    -----------------
#    | task: reader-71 (uid:0 nice:0 policy:0 rt_prio:0)
#    -----------------
#  => started at: _raw_spin_lock_irq
#  => ended at:   _raw_spin_unlock_irq
#
  reader-71        3d....    0us : _raw_spin_lock_irq
 => _raw_spin_unlock_irq
 => cgroup_rstat_flush_locked
";

/// Where the tracer works.
fn tracefs() -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    fs::create_dir(root.path().join("instances")).unwrap();
    for (file, text) in [
        ("available_tracers", "irqsoff function nop\n"),
        ("current_tracer", "nop\n"),
        ("tracing_on", "1\n"),
        ("tracing_thresh", "0\n"),
    ] {
        fs::write(root.path().join(file), text).unwrap();
    }
    root
}

fn refusal(root: &tempfile::TempDir) -> String {
    let error = format!("{:#}", check(Some(root.path())).unwrap_err());
    assert!(!error.contains('\n'), "{error}");
    error.replace(&root.path().display().to_string(), "/t")
}

fn put(root: &tempfile::TempDir, file: &str, text: &str) {
    let path = root.path().join(file);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// An instance as the kernel would fill it; the folder is a plain one, so files outlive the tracer.
fn started(root: &tempfile::TempDir) -> (Tracer, PathBuf) {
    let tracer = Tracer::start(root.path()).unwrap();
    let instance = root.path().join("instances").join(format!("{PREFIX}{}", std::process::id()));
    (tracer, instance)
}

#[test]
fn what_is_missing_is_named() {
    let error = format!("{:#}", check(None).unwrap_err());
    assert_eq!(error, "tracefs is not mounted: mount -t tracefs tracefs /sys/kernel/tracing");
    let root = tracefs();
    assert_eq!(check(Some(root.path())).unwrap(), root.path());
    put(&root, "tracing_thresh", "100\n");
    assert_eq!(
        refusal(&root),
        "the tracer works with a threshold, and does not keep the longest: echo 0 > /t/tracing_thresh"
    );
    put(&root, "tracing_on", "0\n");
    assert_eq!(refusal(&root), "tracing is off, and with it the tracer: echo 1 > /t/tracing_on");
    put(&root, "available_tracers", "preemptirqsoff nop\n");
    assert_eq!(refusal(&root), "the kernel has no irqsoff tracer (CONFIG_IRQSOFF_TRACER)");
    fs::remove_file(root.path().join("available_tracers")).unwrap();
    assert!(
        refusal(&root).starts_with("cannot read /t/available_tracers: No such file"),
        "{}",
        refusal(&root)
    );
}

#[test]
fn whoever_uses_it_is_named() {
    let root = tracefs();
    put(&root, "instances/other/current_tracer", "preemptoff\n");
    let expected = "the preemptoff tracer is in use (echo nop > /t/instances/other/current_tracer ends that), and only one at a time can use it";
    assert_eq!(refusal(&root), expected);
    put(&root, "instances/other/current_tracer", "function\n");
    put(&root, "current_tracer", "irqsoff\n");
    assert!(refusal(&root).contains("(echo nop > /t/current_tracer ends that)"), "{}", refusal(&root));
    put(&root, "current_tracer", "nop\n");
    put(&root, "instances/rstat-probe-7/current_tracer", "irqsoff\n");
    let _other = try_lock(&root.path().join("instances/rstat-probe-7")).unwrap().unwrap();
    assert_eq!(refusal(&root), "process 7 cross-checks already, and only one at a time can use it");
}

#[test]
fn leftovers_are_removed_and_others_stay() {
    let root = tracefs();
    let instances = root.path().join("instances");
    for name in
        ["rstat-probe-7", "rstat-probe-8", "rstat-probe-", "rstat-probe-07", "rstat-probe-load-7", "x"]
    {
        fs::create_dir(instances.join(name)).unwrap();
    }
    let _in_use = try_lock(&instances.join("rstat-probe-8")).unwrap().unwrap();
    check(Some(root.path())).unwrap();
    let mut left: Vec<_> = fs::read_dir(&instances)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    left.sort();
    assert_eq!(left, ["rstat-probe-", "rstat-probe-07", "rstat-probe-8", "rstat-probe-load-7", "x"]);
}

#[test]
fn it_is_set_up_read_and_forgotten() {
    let root = tracefs();
    let (tracer, instance) = started(&root);
    let now = |file: &str| fs::read_to_string(instance.join(file)).unwrap();
    assert_eq!((now("current_tracer"), now("buffer_size_kb")), ("irqsoff".to_owned(), "16".to_owned()));
    // Where the kernel has no function tracer, there is nothing to switch off.
    assert!(!instance.join("options").exists());
    tracer.pause().unwrap();
    assert_eq!(now("tracing_on"), "0");
    tracer.go_on().unwrap();
    assert_eq!(now("tracing_on"), "1");

    fs::write(instance.join("tracing_max_latency"), "0\n").unwrap();
    fs::write(instance.join("trace"), TRACE).unwrap();
    assert_eq!(tracer.take().unwrap(), None, "the trace is of the window before");
    fs::write(instance.join("tracing_max_latency"), "532\n").unwrap();
    let span = tracer.take().unwrap().unwrap();
    assert_eq!((span.tracer_us, span.function()), (532, "cgroup_rstat_flush_locked"));
    assert_eq!(now("tracing_max_latency"), "0");

    fs::write(instance.join("tracing_max_latency"), "532\n").unwrap();
    fs::write(instance.join("trace"), "# tracer: nop\n").unwrap();
    assert!(tracer.take().is_err());
    put(&root, "tracing_on", "0\n");
    assert!(tracer.take().unwrap_err().to_string().starts_with("somebody switched tracing off"));
    // In tracefs the files go with the folder.
    fs::remove_dir_all(&instance).unwrap();
    fs::create_dir(&instance).unwrap();
    drop(tracer);
    assert!(!instance.exists());
}

#[test]
fn a_failed_start_leaves_nothing() {
    let root = tracefs();
    let instances = root.path().join("instances");
    fs::remove_dir(&instances).unwrap();
    let error = format!("{:#}", Tracer::start(root.path()).unwrap_err());
    assert!(
        error.starts_with("cannot make ") && error.ends_with("No such file or directory (os error 2)"),
        "{error}"
    );
    let own = instances.join(format!("{PREFIX}{}", std::process::id()));
    fs::create_dir_all(&own).unwrap();
    let error = format!("{:#}", Tracer::start(root.path()).unwrap_err());
    assert!(error.contains("File exists"), "{error}");
    assert!(own.exists(), "it is somebody else's");
}
