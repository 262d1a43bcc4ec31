use std::collections::{BTreeMap, BTreeSet};

use super::*;
use crate::recipe::{Step, Walls};

fn key(script: &str) -> LayerKey {
    LayerKey::of(None, &Step::Run { title: String::new(), script: script.to_owned() }, &[])
}

fn manifest(name: &str, layers: Vec<LayerKey>) -> Manifest {
    Manifest {
        name: name.to_owned(),
        description: "for tests".to_owned(),
        tags: vec![DEFAULT_TAG.to_owned(), "v1".to_owned()],
        recipe: "00".to_owned(),
        suite: "trixie".to_owned(),
        layers,
        bytes: 7,
        created_ms: 1,
        user: "user".to_owned(),
        workdir: "/home/user".to_owned(),
        env: BTreeMap::from([("LANG".to_owned(), "C.UTF-8".to_owned())]),
        cpu: 2,
        memory_mib: 1024,
        nursery: None,
        walls: Walls::default(),
    }
}

fn make_layer(store: &Store, key: &LayerKey) {
    let temporary = store.temporary().unwrap();
    let upper = temporary.join(names::UPPER);
    fs::write(upper.join("file"), "content").unwrap();
    let record = LayerRecord { title: "t".to_owned(), bytes: 100, created_ms: 1 };
    store.keep_layer(key, &temporary, &upper, &record).unwrap();
}

fn store() -> (tempfile::TempDir, Store) {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    (dir, store)
}

#[test]
fn a_template_is_found_by_name_and_by_tag() {
    let (_dir, store) = store();
    make_layer(&store, &key("a"));
    let named = store.name(manifest("base", vec![key("a")])).unwrap();
    for reference in ["base", "base:default", "base:v1"] {
        let template = store.find(reference).unwrap().unwrap();
        assert_eq!(template.manifest, named);
        assert_eq!(template.layers, [store.layers.join(key("a").as_str())]);
    }
    for reference in ["base:v2", "other", "../base", "", ":v1"] {
        assert_eq!(store.find(reference).unwrap(), None, "{reference}");
    }
    assert_eq!(store.list().unwrap().len(), 1);
}

#[test]
fn naming_the_same_again_keeps_the_age() {
    let (_dir, store) = store();
    store.name(manifest("base", Vec::new())).unwrap();
    let again = store.name(Manifest { created_ms: 2, ..manifest("base", Vec::new()) }).unwrap();
    assert_eq!(again.created_ms, 1);
    let changed = store.name(Manifest { created_ms: 3, bytes: 8, ..manifest("base", Vec::new()) }).unwrap();
    assert_eq!(changed.created_ms, 3);
}

#[test]
fn a_template_without_one_of_its_layers_is_an_error() {
    let (_dir, store) = store();
    store.name(manifest("base", vec![key("gone")])).unwrap();
    let error = store.find("base").unwrap_err();
    assert!(matches!(error, StoreError::MissingLayer { .. }), "{error}");
}

#[test]
fn a_manifest_edited_by_hand_names_its_file() {
    let (_dir, store) = store();
    fs::write(store.manifest_path("base"), "{}").unwrap();
    let error = store.find("base").unwrap_err();
    assert!(error.to_string().contains("base.json"), "{error}");
}

#[test]
fn what_a_killed_build_left_is_swept() {
    let (_dir, store) = store();
    make_layer(&store, &key("a"));
    let left = store.temporary().unwrap();
    fs::create_dir_all(left.join("work/work")).unwrap();
    fs::write(store.templates.join(".tmp-1-base.json"), "half").unwrap();
    store.sweep().unwrap();
    assert!(!left.exists() && !store.templates.join(".tmp-1-base.json").exists());
    assert_eq!(store.layer_bytes(&key("a")).unwrap(), Some(100));
}

#[test]
fn gc_keeps_what_templates_and_sandboxes_use() {
    let (_dir, store) = store();
    for name in ["named", "running", "idle"] {
        make_layer(&store, &key(name));
    }
    store.name(manifest("base", vec![key("named")])).unwrap();
    let freed = store.gc(&BTreeSet::from([key("running")])).unwrap();
    assert_eq!(freed, Freed { layers: 1, bytes: 100 });
    assert_eq!(store.layer_bytes(&key("idle")).unwrap(), None);
    assert!(store.layer_bytes(&key("running")).unwrap().is_some());

    assert!(store.remove("base").unwrap() && !store.remove("base").unwrap());
    assert_eq!(store.gc(&BTreeSet::new()).unwrap().layers, 2);
}

#[test]
fn the_second_builder_waits_for_the_first() {
    let (_dir, store) = store();
    let held = store.lock(|| panic!("nobody else has it")).unwrap();
    let (told, heard) = std::sync::mpsc::channel();
    let other = store.clone();
    let second = std::thread::spawn(move || other.lock(|| told.send(()).unwrap()).map(drop));
    heard.recv().unwrap();
    drop(held);
    second.join().unwrap().unwrap();
}
