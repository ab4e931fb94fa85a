//! Paths to directories: what is mounted, what is mounted in part, and what must not be guessed.

use std::fs;

use super::*;
use proptest::prelude::*;

/// Makes a directory with empty files in it.
fn with(dir: &Path, files: &[&str]) {
    fs::create_dir_all(dir).unwrap();
    files.iter().for_each(|f| fs::write(dir.join(f), "").unwrap());
}

fn inside(place: &Place) -> (&Path, Vec<&Path>, bool) {
    let Place::In(levels) = place else { panic!("{place:?}") };
    (&levels.dir, levels.up().collect(), levels.is_whole)
}

#[test]
fn a_part_of_the_tree_that_is_mounted_is_mapped() {
    let mounts = Mounts::parse(
        b"1 1 0:1 /pod7 /cg rw - cgroup2 c rw\n2 1 0:1 /.. /up rw - cgroup c rw,freezer\n",
    );
    let tree = Tree::mounted(mounts.cgroup2().unwrap());
    let place = tree.place(b"/pod7/c:1/d");
    let (dir, up, is_whole) = inside(&place);
    assert_eq!(dir, Path::new("/cg/c:1/d"));
    // The mounted part's own top is a cgroup, and there are more above it.
    assert_eq!(up, ["/cg/c:1/d", "/cg/c:1", "/cg"].map(Path::new));
    assert!(!is_whole);
    assert_eq!(inside(&tree.place(b"/pod7")).0, Path::new("/cg"));
    assert_eq!(tree.place(b"/pod8"), Place::Unmounted);
    assert_eq!(tree.place(b"/"), Place::Unmounted);
    assert_eq!(Tree::mounted(mounts.cgroup1("freezer").unwrap()).place(b"/x"), Place::Foreign);
    let rootless =
        Mount { root: PathBuf::new(), ..mounts.cgroup2().expect("the first of them").clone() };
    assert_eq!(Tree::mounted(&rootless).place(b"."), Place::Unmounted, "it is above the mount");
}

#[test]
fn the_real_root_is_told_from_that_of_a_namespace() {
    let dir = tempfile::tempdir().unwrap();
    let top = dir.path();
    with(&top.join("real"), &["cgroup.controllers"]);
    with(&top.join("namespace"), &["cgroup.controllers", "cgroup.events"]);
    with(&top.join("v1"), &["release_agent"]);
    with(&top.join("v1-namespace"), &[]);
    let tree = |name: &str, is_v2| Tree::new(top.join(name), "/".into(), is_v2);
    assert_eq!(tree("real", true).place(b"/"), Place::Root);
    assert_eq!(tree("v1", false).place(b"/"), Place::Root);
    for (name, is_v2) in [("namespace", true), ("v1-namespace", false)] {
        let place = tree(name, is_v2).place(b"/");
        assert_eq!(inside(&place), (&*top.join(name), vec![&*top.join(name)], false));
    }
    let place = tree("real", true).place(b"/a/b");
    assert_eq!(inside(&place).1, [&*top.join("real/a/b"), &*top.join("real/a")]);
    assert!(inside(&place).2);
}

#[test]
fn removed_and_foreign_cgroups_are_told() {
    let dir = tempfile::tempdir().unwrap();
    with(&dir.path().join("odd (deleted)"), &[]);
    let tree = Tree::new(dir.path().into(), "/".into(), true);
    assert_eq!(tree.place(b"/a (deleted)"), Place::Removed);
    assert_eq!(inside(&tree.place(b"/odd (deleted)")).0, dir.path().join("odd (deleted)"));
    for foreign in [&b"/.."[..], b"/../other", b"/../../a", b"/a/../b"] {
        assert_eq!(tree.place(foreign), Place::Foreign, "{foreign:?}");
    }
    assert_eq!(tree.place(b"no slash"), Place::Unmounted);
    assert_eq!(tree.place(b""), Place::Unmounted);
}

#[test]
fn every_layout_under_a_prefix_is_found() {
    let dir = tempfile::tempdir().unwrap();
    let of = |name: &str| {
        Trees::find(&Mounts::default(), Some(&dir.path().join(name)), &["memory", "cpu", "freezer"])
    };
    with(&dir.path().join("two"), &["cgroup.controllers"]);
    with(&dir.path().join("hybrid/unified"), &["cgroup.controllers"]);
    for name in ["hybrid", "one"] {
        for controller in ["memory", "cpu,cpuacct"] {
            with(&dir.path().join(name).join(controller), &["release_agent"]);
        }
    }
    let text = b"4:memory:/m\n3:cpuacct,cpu:/c:x\n2:freezer:/\n0::/v\n";
    let homes = of("hybrid").homes(text);
    let at = |home: &Option<Home>| inside(&home.as_ref().unwrap().place).0.to_owned();
    assert_eq!(at(&homes.v2), dir.path().join("hybrid/unified/v"));
    assert_eq!(at(&homes.memory), dir.path().join("hybrid/memory/m"));
    assert_eq!(at(&homes.cpu), dir.path().join("hybrid/cpu,cpuacct/c:x"));
    assert_eq!(homes.freezer.unwrap().place, Place::Unmounted);

    let homes = of("two").homes(b"0::/v/w\n");
    assert_eq!(at(&homes.v2), dir.path().join("two/v/w"));
    assert_eq!((homes.memory, homes.cpu, homes.freezer), (None, None, None));

    // The kernel writes the line of v2 where nobody uses it.
    let homes = of("one").homes(b"4:memory:/m\n0::/\n");
    assert_eq!(homes.v2, None);
    assert_eq!(at(&homes.memory), dir.path().join("one/memory/m"));
    assert_eq!(of("one").homes(b"0::/v\n").v2.unwrap().place, Place::Unmounted);
}

#[test]
fn a_prefix_that_is_a_mount_is_taken_for_what_is_mounted() {
    let dir = tempfile::tempdir().unwrap();
    let real = dir.path().canonicalize().unwrap();
    with(&real, &["cgroup.controllers"]);
    let place = |root: &str, path: &[u8]| {
        let mounts = format!("1 1 0:1 {root} {} rw - cgroup2 c rw\n", real.display());
        let trees = Trees::find(&Mounts::parse(mounts.as_bytes()), Some(dir.path()), &[]);
        trees.homes(&[b"0::", path, b"\n"].concat()).v2.unwrap().place
    };
    assert_eq!(inside(&place("/", b"/a")).0, dir.path().join("a"));
    assert_eq!(inside(&place("/host", b"/host/a")).0, dir.path().join("a"));
    // The host's tree, seen from a namespace: `/a` is ours, but not the host's `/a`.
    assert_eq!(place("/../..", b"/a"), Place::Foreign);
}

proptest! {
    #[test]
    fn no_path_leads_out_of_the_tree(path in "(/|a|\\.|\\.\\.| \\(deleted\\)|:|\\PC){0,20}") {
        let tree = Tree { point: "/cg".into(), root: "/".into(), is_whole: true };
        if let Place::In(levels) = tree.place(path.as_bytes()) {
            prop_assert!(levels.dir.components().all(|c| c != Component::ParentDir));
            for dir in levels.up() {
                prop_assert!(dir.starts_with("/cg") && dir != Path::new("/cg"));
            }
        }
    }

    #[test]
    fn any_lines_do_no_harm(text: Vec<u8>, deep in 0usize..4000) {
        let dir = Tree { point: "/cg".into(), root: "/".into(), is_whole: true };
        let trees = Trees { v2: Some(dir.clone()), v1: vec![("memory", dir)] };
        let _ = trees.homes(&text);
        let deep = [b"0::".to_vec(), b"/a".repeat(deep), b"\n".to_vec()].concat();
        if let Some(Home { place: Place::In(levels), .. }) = trees.homes(&deep).v2 {
            prop_assert!(levels.up().count() <= MAX_LEVELS);
        }
    }
}
