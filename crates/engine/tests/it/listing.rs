use std::collections::{BTreeMap, HashSet};

use hood_engine::{Filter, NewSandbox, Order, Page, Record, TeamId};
use hood_testkit::Lab;

use crate::secs;

async fn some(lab: &Lab, template: &str, label: &str) -> Record {
    let metadata = BTreeMap::from([("label".into(), label.into()), ("all".into(), "yes".into())]);
    let new = NewSandbox { metadata, ..NewSandbox::of(template, secs(600)) };
    let record = lab.engine.create(&lab.team, new).await.expect("created");
    lab.clock.advance(secs(1));
    record
}

fn ids(page: &Page) -> Vec<&str> {
    page.records.iter().map(|record| record.id.as_str()).collect()
}

#[tokio::test]
async fn each_filter_leaves_what_it_says() {
    let lab = Lab::new();
    let first = some(&lab, "base", "a").await;
    let second = some(&lab, "code-interpreter-v1", "b").await;
    let third = some(&lab, "base", "b").await;
    lab.engine.kill(&lab.team, some(&lab, "base", "a").await.id.as_str()).await.unwrap();
    let list = |filter| lab.engine.list(&lab.team, &filter);

    let all = list(Filter::default());
    assert_eq!(ids(&all), [third.id.as_str(), second.id.as_str(), first.id.as_str()], "newest first");
    assert_eq!(all.running, 3);
    let oldest = list(Filter { order: Order::Oldest, ..Filter::default() });
    assert_eq!(ids(&oldest), [first.id.as_str(), second.id.as_str(), third.id.as_str()]);
    let metadata = BTreeMap::from([("label".into(), "b".into()), ("all".into(), "yes".into())]);
    assert_eq!(list(Filter { metadata, ..Filter::default() }).records.len(), 2);
    for (template, expected) in [("base", 2), ("t-base", 2), ("code-interpreter-v1", 1), ("other", 0)] {
        let page = list(Filter { template: Some(template.into()), ..Filter::default() });
        assert_eq!((page.records.len(), page.running), (expected, 3), "{template}");
    }
    let after = list(Filter { started_after: Some(first.started_at), ..Filter::default() });
    assert_eq!(ids(&after), [third.id.as_str(), second.id.as_str()]);
    assert!(lab.engine.list(&TeamId("other".into()), &Filter::default()).records.is_empty());
}

#[tokio::test]
async fn pages_show_each_sandbox_once_while_others_come_and_go() {
    let lab = Lab::new();
    let mut expected = HashSet::new();
    for n in 0..25 {
        // Several in the same moment: the id decides then.
        let record = lab.create(secs(600)).await.unwrap();
        expected.insert(record.id);
        if n % 5 == 0 {
            lab.clock.advance(secs(1));
        }
    }
    for order in [Order::Newest, Order::Oldest] {
        let mut filter = Filter { order, limit: 4, ..Filter::default() };
        let mut seen = HashSet::new();
        loop {
            let page = lab.engine.list(&lab.team, &filter);
            assert!(page.records.len() <= 4);
            for record in page.records {
                assert!(seen.insert(record.id.clone()), "shown twice");
            }
            let Some(next) = page.next else { break };
            assert!(Page::is_position(&next));
            // The one the position names goes away.
            let last = expected.iter().find(|id| next.contains(id.as_str())).cloned().unwrap();
            lab.engine.kill(&lab.team, last.as_str()).await.unwrap();
            filter.after = Some(next);
        }
        assert_eq!(seen, expected);
        expected = lab.engine.list(&lab.team, &Filter::default()).records.into_iter().map(|r| r.id).collect();
    }
}

#[tokio::test]
async fn a_position_that_is_none_gives_an_empty_page() {
    let lab = Lab::new();
    lab.create(secs(60)).await.unwrap();
    for bad in ["", "x", "12-", "-i", "zz-iaaaaaaaaaaaaaaaaaaaa"] {
        assert!(!Page::is_position(bad));
        let page = lab.engine.list(&lab.team, &Filter { after: Some(bad.into()), ..Filter::default() });
        assert!(page.records.is_empty() && page.next.is_none());
    }
}

#[tokio::test]
async fn a_token_finds_its_running_sandbox() {
    let lab = Lab::new();
    let record = lab.create(secs(60)).await.unwrap();
    lab.create(secs(60)).await.unwrap();
    assert_eq!(lab.engine.find_by_token(&|token| *token == record.access_token), Some(record.clone()));
    lab.engine.kill(&lab.team, record.id.as_str()).await.unwrap();
    assert_eq!(lab.engine.find_by_token(&|token| *token == record.access_token), None);
}
