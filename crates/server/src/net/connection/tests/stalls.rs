//! Answers that are not taken: ended after the listener's default of 60 s, and only those.

use futures_util::stream;
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody};
use hyper::client::conn::http2::SendRequest;
use tokio::sync::OwnedSemaphorePermit;

use super::*;

/// As large as an upstream's pieces come.
const PIECE: usize = 400_000;

/// What one answer holds while it is under way.
fn place() -> Arc<Semaphore> {
    Arc::new(Semaphore::new(1))
}

/// A service whose answers have as many pieces as the path's first part says, with as many seconds before each as its
/// second says. The path `/…/…/held` holds the place.
fn served(place: &Arc<Semaphore>, http2: bool) -> Served {
    let place = Arc::clone(place);
    let service = tower::service_fn(move |request: Request<Incoming>| {
        let mut parts = request.uri().path().split('/').skip(1);
        let mut number = || parts.next().unwrap().parse::<u64>().unwrap();
        let (pieces, every) = (number(), number());
        let held = parts.next().map(|_| Arc::clone(&place).try_acquire_owned().unwrap());
        async move { Ok::<_, Infallible>(Response::new(StreamBody::new(Box::pin(answer(pieces, every, held))))) }
    });
    Served::by(service, http2)
}

fn answer(
    pieces: u64,
    every: u64,
    held: Option<OwnedSemaphorePermit>,
) -> impl stream::Stream<Item = Result<Frame<Bytes>, Infallible>> {
    stream::unfold((0, held), move |(sent, held)| async move {
        after(every).await;
        (sent < pieces).then(|| (Ok(Frame::data(Bytes::from(vec![b'x'; PIECE]))), (sent + 1, held)))
    })
}

/// Speaks HTTP/2, giving each stream this window.
async fn speak(client: DuplexStream, window: u32) -> SendRequest<Empty<Bytes>> {
    let (sender, connection) = hyper::client::conn::http2::Builder::new(TokioExecutor::new())
        .initial_stream_window_size(window)
        .handshake(TokioIo::new(client))
        .await
        .unwrap();
    tokio::spawn(connection);
    sender
}

async fn ask(sender: &mut SendRequest<Empty<Bytes>>, path: &str) -> Incoming {
    let request = Request::get(format!("http://a{path}")).body(Empty::new()).unwrap();
    sender.send_request(request).await.unwrap().into_body()
}

/// Guards against streams without a window, which would hold every place of the upstream for as long as they like.
#[tokio::test(start_paused = true)]
async fn a_stream_whose_client_takes_nothing_is_ended_and_no_other_of_its_connection() {
    for window in [0, 10_000, 65_535] {
        let place = place();
        let Served { client, ends: _ends, start } = served(&place, true);
        let mut sender = speak(client, window).await;
        let stalled = ask(&mut sender, "/100/0/held").await;
        let other = ask(&mut sender, "/0/200").await;
        assert_eq!(place.available_permits(), 0);
        let _free = tokio::time::timeout(Duration::from_hours(1), place.acquire()).await.unwrap().unwrap();
        assert_eq!(start.elapsed().as_secs(), 60, "with a window of {window}");
        let error = stalled.collect().await.unwrap_err();
        assert!(format!("{error:?}").contains("CANCEL"), "{error:?}");
        assert!(other.collect().await.is_ok());
        assert_eq!(start.elapsed().as_secs(), 200);
    }
}

/// A thousand bytes a second: no single piece of the upstream's is taken within the time.
#[tokio::test(start_paused = true)]
async fn a_client_that_takes_its_answer_slowly_gets_it_whole() {
    let place = place();
    let Served { client, ends: _ends, start } = served(&place, true);
    let mut sender = speak(client, 65_535).await;
    let mut body = ask(&mut sender, "/2/0/held").await;
    let mut taken = 0;
    while let Some(frame) = body.frame().await {
        taken += frame.unwrap().into_data().unwrap().len();
        after((taken as u64 / 1000).saturating_sub(start.elapsed().as_secs())).await;
    }
    assert_eq!(taken, 2 * PIECE);
    assert_eq!(start.elapsed().as_secs(), 800);
}

#[tokio::test(start_paused = true)]
async fn an_upstream_may_take_as_long_as_it_likes_over_each_piece() {
    let place = place();
    let Served { client, ends: _ends, start } = served(&place, true);
    let mut sender = speak(client, 65_535).await;
    let body = ask(&mut sender, "/3/1000/held").await;
    assert_eq!(body.collect().await.unwrap().to_bytes().len(), 3 * PIECE);
    assert_eq!(start.elapsed().as_secs(), 4000);
}

/// A full connection shows less of what its client does: its buffers are emptied in large steps.
#[tokio::test(start_paused = true)]
async fn on_a_full_connection_a_slow_client_has_longer_and_a_dead_one_not_for_ever() {
    let place = place();
    let mut served = served(&place, false);
    served.client.write_all(b"GET /100/0/held HTTP/1.1\r\nHost: a\r\n\r\n").await.unwrap();
    let mut taken = vec![0; 32 * 1024];
    for _ in 0..100 {
        after(25).await;
        served.client.read_exact(&mut taken).await.unwrap();
        assert!(!served.ends.is_finished(), "after {:?}", served.start.elapsed());
    }
    let last = Instant::now();
    assert_eq!(served.ends.await.unwrap(), Outcome::Ended);
    assert!((60..=600).contains(&last.elapsed().as_secs()), "{:?}", last.elapsed());
    assert_eq!(place.available_permits(), 1);
}
