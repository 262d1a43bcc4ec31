use hood_engine::{ConnectError, SandboxId};
use hood_testkit::{Call, Fault, Lab, eventually};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::secs;

#[tokio::test]
async fn a_stream_reaches_the_guest_and_is_cut_after_the_end_is_seen() {
    let lab = Lab::new();
    lab.driver.on_connect(|_, _, mut guest| {
        tokio::spawn(async move { guest.write_all(b"hello").await });
        Ok(())
    });
    let id = lab.create(secs(60)).await.unwrap().id;
    let mut link = lab.engine.link(&id, 49983).await.unwrap();
    let mut said = [0; 5];
    link.stream.read_exact(&mut said).await.unwrap();
    assert_eq!(&said, b"hello");
    assert!(!link.cut.is_cancelled());

    let watcher = tokio::spawn({
        let (engine, id) = (lab.engine.clone(), id.clone());
        async move {
            link.cut.cancelled().await;
            engine.running(&id).is_none()
        }
    });
    lab.engine.kill(&lab.team, id.as_str()).await.unwrap();
    assert!(watcher.await.unwrap(), "whoever is cut already sees that it has ended");
}

#[tokio::test]
async fn what_cannot_be_reached_says_which_it_is() {
    let lab = Lab::new();
    let id = lab.create(secs(60)).await.unwrap().id;
    assert!(matches!(lab.engine.link(&id, 8080).await, Err(ConnectError::PortClosed(8080))));
    let unknown = SandboxId::from_random([1; 20]);
    assert!(matches!(lab.engine.link(&unknown, 1).await, Err(ConnectError::NotRunning { ended: None })));
    lab.engine.kill(&lab.team, id.as_str()).await.unwrap();
    assert!(matches!(lab.engine.link(&id, 1).await, Err(ConnectError::NotRunning { ended: Some(_) })));
}

#[tokio::test]
async fn a_sandbox_that_ends_while_it_is_dialled_is_not_running() {
    let lab = Lab::new();
    lab.driver.open_all_ports();
    let id = lab.create(secs(60)).await.unwrap().id;
    lab.driver.breaks(Call::Connect, Fault::Hang);
    let dialling = tokio::spawn({
        let (engine, id) = (lab.engine.clone(), id.clone());
        async move { engine.link(&id, 1).await.err() }
    });
    eventually("it is being dialled", || lab.driver.count(Call::Connect) == 1).await;
    lab.engine.kill(&lab.team, id.as_str()).await.unwrap();
    lab.driver.mend(Call::Connect);
    assert!(matches!(dialling.await.unwrap(), Some(ConnectError::NotRunning { ended: Some(_) })));
}

#[tokio::test]
async fn a_dial_that_hangs_ends_in_time() {
    let lab = Lab::new();
    let id = lab.create(secs(60)).await.unwrap().id;
    lab.driver.breaks(Call::Connect, Fault::Hang);
    let dialling = tokio::spawn({
        let (engine, id) = (lab.engine.clone(), id.clone());
        async move { engine.link(&id, 1).await.err() }
    });
    eventually("it is being dialled", || lab.driver.count(Call::Connect) == 1).await;
    lab.clock.advance(secs(10));
    assert!(matches!(dialling.await.unwrap(), Some(ConnectError::Dial(_))));
}
